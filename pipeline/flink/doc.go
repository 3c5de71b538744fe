// Package flink runs deployments on a session cluster of Apache Flink, through Beam's portable
// runner and Flink's REST interface, without a job server, checkpoints or savepoints. deploy/flink
// sets up such a cluster.
//
// [Engine] returns an engine for pipeline.Workers: it uploads the pipeline, follows the job, and
// cancels it when its context ends. [Worker] runs in the processes that Flink starts on its
// machines. It implements Beam's PROCESS environment, so one program can both submit jobs and serve
// as their worker.
//
// # Guarantees
//
// The uploaded jar contains no secret: it contains the pipeline, with a run's id, a path and
// digests, and the options of the job. Engine does not leave a started job running: it returns when
// the job has ended, or with an error that names the job that may still run. If a JobManager does
// not respond for a while, Engine waits; if the JobManager then does not know the job, Engine
// submits it again.
//
// # Not guaranteed
//
// If the submitting process is killed, its job continues until the next run of the deployment ends
// it.
package flink
