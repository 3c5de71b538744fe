// Package flink runs deployments on a session cluster of Apache Flink, through Beam's portable
// runner and Flink's REST interface. It needs no job server, no checkpoint and no savepoint.
// deploy/flink has such a cluster.
//
// [Engine] makes the function that pipeline.Workers takes: it uploads the pipeline, follows the
// job, and cancels it when its context ends. [Worker] runs in the processes that Flink starts on
// its machines. It implements Beam's PROCESS environment, so one program both submits and works.
//
// # Guarantees
//
// No secret travels: the uploaded jar holds the pipeline, which names a run, a path and digests,
// and the options of the job. Engine leaves no started job running: it returns when the job has
// ended, or names the job that may still run. If a JobManager does not respond for a while, Engine
// waits; if it returns without the job, Engine submits the job again.
//
// # Not guaranteed
//
// If the submitting process is killed, its job continues. The next run of the deployment ends it.
package flink
