// Package flink runs deployments on a session cluster of Apache Flink, through Beam's portable
// runner and Flink's REST interface, without a job server, checkpoints or savepoints. deploy/flink
// sets up such a cluster.
//
// [Engine] returns an engine for pipeline.Workers. It uploads the pipeline, follows its job, and
// cancels the job when the context ends. [Worker] runs in the processes that Flink starts on its
// machines. It implements Beam's PROCESS environment, so one program can submit jobs and be their
// worker.
//
// # Guarantees
//
// The uploaded jar contains no secrets. It contains the pipeline, with a run's id, a path and
// digests, and the options of the job. Engine does not leave a started job running: it returns when
// the job has ended, or with an error that names the job that may still run. If a JobManager does
// not respond for a while, Engine waits. If it does not know the job afterwards, Engine submits it
// again.
//
// # Not guaranteed
//
// If the submitting process is killed, its job continues until the deployment's next run ends it.
package flink
