package pipeline

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

// Workers runs the stages of a run in other processes, which must call OpenRuns. Run submits the
// pipeline and follows the control log. It reports the same as a run in one process, as far as
// control shows it; everything else is in the workers' own logs.
type Workers struct {
	// Engine submits the pipeline and returns when its job has ended. It cancels the job with ctx.
	Engine func(ctx context.Context, p *beam.Pipeline, job Job) error
	// Config locates the configuration for workers. It is the argument of load in OpenRuns.
	Config string
	// Tasks is the number of the engine's tasks for each stage. The shards of a turn are packed
	// into as many elements (transforms.Layout). 0: unknown, and each shard has its own element.
	Tasks int
	// Spread returns n distinct keys that the engine distributes evenly over its tasks; nil: 0 to n
	// − 1.
	Spread func(n int) []int
}

// layout returns the layout of a pipeline with the given number of readers. w may be nil.
func (w *Workers) layout(readers int) transforms.Layout {
	numbers := func(n int) []int {
		out := make([]int, n)
		for i := range out {
			out[i] = i
		}
		return out
	}
	switch {
	case w == nil:
		return transforms.Layout{Readers: numbers(readers)}
	case w.Spread != nil:
		numbers = w.Spread
	}
	return transforms.Layout{Readers: numbers(readers), Strands: numbers(w.Tasks)}
}

// Job describes a pipeline's job to an engine.
type Job struct {
	// Name identifies the deployment: all its jobs have the same name, and no other job has it.
	// Before a job starts, its engine ends older jobs of that name: their runs are superseded.
	Name string
	// Failing is called before the engine restarts a failed job. cause describes the failure. If
	// Failing returns an error, Engine ends the job and returns that error.
	Failing func(cause string) error
}

// WorkerPublishEvery is the maximum Outputs.PublishEvery of a run with Workers. A task of the
// engine waits while values wait for their publication time, so the interval must be short.
const WorkerPublishEvery = 10 * time.Second

// check returns an error if workers cannot run the deployment. w may be nil.
func (w *Workers) check(d *deployment.Deployment) error {
	if w == nil {
		return nil
	}
	if w.Engine == nil {
		return errors.New("running with workers: Workers.Engine is missing: package pipeline/flink has one")
	}
	if every := d.Config.Outputs.PublishEvery; every > WorkerPublishEvery {
		return deployment.Invalid("Outputs.PublishEvery", "%v is more than %v, the longest that a task of the engine "+
			"can wait: lower it, or run in one process", every, WorkerPublishEvery)
	}
	return nil
}

// ErrWorker means that workers cannot run a deployment. Its text contains the error of one worker.
var ErrWorker = errors.New("a worker failed")

// maxEarlyFailures is the number of failures before the run's first epoch that end the job.
const maxEarlyFailures = 3

// failureHandler returns a Job.Failing. It returns an error if a restart of the job would not help.
func (r *run) failureHandler() func(cause string) error {
	failures := 0
	return func(cause string) error {
		started := false
		r.control.WithView(func(v *controllog.View) { started = v.Run >= r.terms.Run })
		cause, err := splitCode(cause)
		if err != nil && (err != errOpening || !started) { //nolint:errorlint // one of the table
			return fmt.Errorf("%w: %w: %s", ErrWorker, err, cause)
		}
		if failures++; !started && failures >= maxEarlyFailures {
			return fmt.Errorf("%w %d times before anything was read: %s", ErrWorker, failures, cause)
		}
		r.log.Warn("the job failed and is restarted", "cause", cause)
		return nil
	}
}

// errRunEnded cancels a job whose run has ended.
var errRunEnded = errors.New("the run is over")

// endLimit is how long a job may continue after the end of its run, in addition to the wait for the
// ends of turns. The job is then cancelled, because some engines never end a job.
const endLimit = time.Second

// runOnWorkers submits the pipeline to workers and follows control meanwhile.
func (r *run) runOnWorkers(ctx context.Context, w *Workers) error {
	if _, err := changes.Rules(r.dep, r.control.Header); err != nil {
		return err
	}
	if _, err := reading.NewDecoder(ctx, r.dep, r.log); err != nil {
		return fmt.Errorf("preparing to decode events: %w", err)
	}
	p, err := r.pipeline(w)
	if err != nil {
		return err
	}
	job, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var follower sync.WaitGroup
	var followErr error
	follower.Go(func() {
		if err := r.follow(job, cancel); err != nil && job.Err() == nil {
			followErr = err // otherwise the end of the job has interrupted follow
			cancel(followErr)
		}
	})
	h := r.control.Header
	err = w.Engine(job, p, Job{Name: fmt.Sprintf("tollgate %s %x", h.Deployment, h.Incarnation[:4]),
		Failing: r.failureHandler()})
	runEnded := errors.Is(context.Cause(job), errRunEnded)
	cancel(nil)
	follower.Wait()
	if cause := context.Cause(ctx); cause != nil {
		switch { // err may report only that the job could not be cancelled
		case errors.Is(err, cause):
		case followErr != nil && err != nil: // the cause interrupted follow before the engine
			err = fmt.Errorf("%w: %w", cause, err)
		default:
			err = cause
		}
		return fmt.Errorf("running: %w", err)
	}
	if followErr != nil {
		return fmt.Errorf("following control: %w", followErr)
	}
	if uerr := r.control.Update(ctx); uerr != nil {
		return errors.Join(err, uerr)
	}
	superseded, stop := r.endByControl()
	ended, newerAnnounced := false, false
	r.control.WithView(func(v *controllog.View) {
		ended, newerAnnounced = v.Ended != nil && v.Run == r.terms.Run, v.Announced > r.terms.Run
	})
	switch {
	case superseded || ended:
		return nil
	case stop != nil:
		return stop
	case err == nil || runEnded:
		return errors.New("running: the job ended before the run, perhaps because it was cancelled: start a run to " +
			"continue")
	case newerAnnounced:
		r.superseded = true
		return nil
	}
	return fmt.Errorf("running: %w", err)
}

// follow reads control until ctx ends. It cancels a job that does not end by itself after its run.
// If an EPOCH follows a DRAIN, follow repeats the DRAIN: the process of that epoch may have started
// to read control after the first DRAIN.
func (r *run) follow(ctx context.Context, cancel context.CancelCauseFunc) error {
	fetcher := r.client.NewFetcher()
	defer fetcher.Close()
	var endedSince time.Time
	var last lastProgress
	drainEpoch, reported := int64(-1), time.Time{}
	for ctx.Err() == nil {
		var from, epoch int64
		drained, ended := false, false
		r.control.WithView(func(v *controllog.View) {
			from, epoch, drained = v.Next, v.Epoch, v.Drained(r.terms.Run)
			ended = v.Run > r.terms.Run || v.Run == r.terms.Run && v.Ended != nil || v.Stop != nil
		})
		switch now := time.Now(); {
		case ended && endedSince.IsZero():
			endedSince = now
		case ended && now.Sub(endedSince) > endLimit+r.dep.Config.Outputs.PublishEvery/10:
			cancel(errRunEnded)
		case drained && drainEpoch < 0:
			drainEpoch = epoch
		case drained && drainEpoch != epoch && !ended:
			drainEpoch = epoch
			if err := r.appendControl(ctx, &schemas.Drain{Run: r.terms.Run}); err != nil {
				return err
			}
		case now.Sub(reported) > time.Second:
			reported = now
			if err := r.observeProgress(ctx, &last, now); err != nil {
				return err
			}
		}
		fetched, err := fetcher.Poll(ctx, []kafkalog.Fetch{{Topic: r.control.Topic, Partition: controllog.Partition,
			Offset: from, MaxBytes: controllog.MaxRecord}}, 1, reading.PollWait)
		for i := range fetched {
			if err == nil {
				err = fetched[i].Err
			}
			if err == nil {
				err = r.control.Feed(ctx, fetched[i].Records)
			}
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// lastProgress holds the last closed and settled turns, and the time since which they are the same.
type lastProgress struct {
	closed, settled uint64
	since           time.Time
}

// delay returns how far the records of the events topic are behind now. It is the longest time
// since the append time of a partition or, for silent partitions, the longest lag.
func delay(cuts []schemas.Cut, now time.Time) (longest time.Duration) {
	for i := range cuts {
		switch {
		case cuts[i].Idle:
			longest = max(longest, time.Duration(cuts[i].Lag)*time.Millisecond)
		case cuts[i].AppendTime != calendar.Never:
			longest = max(longest, now.Sub(time.UnixMilli(cuts[i].AppendTime)))
		}
	}
	return longest
}

// observeProgress reports to stalls the progress on control and the ends of the events topic.
func (r *run) observeProgress(ctx context.Context, last *lastProgress, now time.Time) error {
	p := watch.Progress{End: calendar.Forever, Behind: calendar.Forever}
	cuts, times := map[int32]int64{}, map[int32]int64{}
	r.control.WithView(func(v *controllog.View) {
		p.Result = r.turns.NextEnd(v.Settled)
		p.End = r.turns.End(v.Closed + 1)
		p.Closed = v.Closed > v.Settled && r.turns.End(v.Closed) >= p.Result
		if last.since.IsZero() || last.closed != v.Closed || last.settled != v.Settled {
			*last = lastProgress{v.Closed, v.Settled, now}
		}
		if v.Closed > v.Settled {
			p.Open, p.OpenedAt = v.Settled+1, last.since
		}
		if c := v.Closes[v.Closed]; c != nil {
			if r.dep.Config.Time.Trust == deployment.TrustProducer {
				p.Delay = delay(c.Cuts, last.since)
			}
			for _, cut := range c.Cuts {
				cuts[cut.Partition], times[cut.Partition] = cut.Cut, cut.AppendTime
				if cut.AppendTime != calendar.Never {
					cuts[cut.Partition], p.Behind = cut.Cut, min(p.Behind, cut.AppendTime)
				}
			}
		}
	})
	ends, err := reading.Ends(ctx, r.client, r.dep.Config.Events.Topic)
	if err != nil {
		return err
	}
	atEnd := true
	for id, cut := range cuts {
		atEnd = atEnd && cut >= ends[id]
		p.Partitions = append(p.Partitions, watch.Partition{ID: id, Next: cut, High: ends[id], LastStable: ends[id],
			RequestedAt: now.UnixMilli(), AppendTime: times[id]})
	}
	if atEnd {
		p.Behind = calendar.Forever
	}
	r.stalls.Observe(now, p)
	return nil
}

// OpenRuns lets this process open, as a worker, the runs whose stages an engine assigns to it. load
// reads the configuration that Workers.Config locates. A worker's errors reach Run as text. They
// end the run if a restart would not help.
func OpenRuns(load func(config string) (*Deployment, error), log *slog.Logger) {
	transforms.OpenRuns(opener(load, log))
}

func opener(load func(config string) (*Deployment, error), log *slog.Logger) transforms.Opener {
	return func(run transforms.Run) (*transforms.Runtime, error) {
		rt, err := openRun(run, load, log)
		if err != nil {
			return nil, withCode(fmt.Errorf("opening run %s: %w: %w", run.ID, errOpening, err))
		}
		return rt, nil
	}
}

// openLimit is how long a worker may take to connect to Kafka and open control.
const openLimit = 8 * time.Second

func openRun(run transforms.Run, load func(config string) (*Deployment, error), log *slog.Logger) (*transforms.Runtime,
	error) {
	t, err := decodeTerms(run.Terms)
	if err != nil {
		return nil, err
	}
	id, err := t.runID()
	if err != nil {
		return nil, err
	}
	d, err := load(t.Config)
	if err != nil {
		return nil, err
	}
	switch parts, err := t.differences(d); {
	case err != nil:
		return nil, err
	case len(parts) > 0:
		return nil, fmt.Errorf("this worker's configuration is not the run's: %[2]s differ in %[1]s: put the "+
			"same file on every machine: %[3]w", t.Config, strings.Join(parts, ", "), deployment.ErrHeaderMismatch)
	}
	ctx, cancel := context.WithCancel(context.Background())
	client, control, err := dialControl(ctx, d, t, log)
	if err != nil {
		cancel()
		return nil, err
	}
	control.Run, control.RunID = t.Run, id
	s := newStages(ctx, d, client, control, t, log)
	s.stalls = watch.New(watch.RulesOf(d, t.Bounded), log)
	s.monitor = watch.Start(ctx, client, s.stalls, nil, func(error) {})
	s.monitor.EverySecond(s.losses.Check)
	rt := s.runtime()
	rt.Fail = func(err error) error {
		s.fail(err)
		return withCode(err)
	}
	rt.Source, rt.Spender, rt.Releaser, rt.Settler = openWithCode(rt.Source), openWithCode(rt.Spender),
		openWithCode(rt.Releaser), openWithCode(rt.Settler)
	rt.Close = func() {
		s.monitor.Stop()
		_ = s.close() // the next run writes the missing ends of turns
		client.Close()
		cancel()
	}
	return rt, nil
}

// dialControl connects to Kafka and opens control. It returns an error unless deployment, cluster
// and configuration are those of the run.
func dialControl(ctx context.Context, d *deployment.Deployment, t *terms, log *slog.Logger) (*kafkalog.Client,
	*controllog.Log, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, openLimit, fmt.Errorf("Kafka did not respond to this worker within %v",
		openLimit))
	defer cancel()
	client, err := connect.Dial(ctx, d.Config.Kafka, log)
	if err != nil {
		return nil, nil, errors.Join(err, context.Cause(ctx))
	}
	control, _, err := openControl(ctx, d, client, log)
	if err == nil {
		if incarnation := hex.EncodeToString(control.Header.Incarnation[:]); incarnation != t.Incarnation {
			err = fmt.Errorf("this worker reaches a deployment that is not the run's: topic %s has incarnation %s, "+
				"but the run's is %s; let the names in kafka.brokers mean the same brokers on every machine: %w",
				d.Config.Outputs.Control, incarnation, t.Incarnation, deployment.ErrHeaderMismatch)
		} else if cluster, idErr := client.ClusterID(ctx); idErr != nil {
			err = fmt.Errorf("reading the cluster's id: %w", idErr)
		} else if cluster != t.Cluster { // after a failover, both clusters have the incarnation
			err = fmt.Errorf("this worker reaches Kafka cluster %s, but the run is on %s; let the names in "+
				"kafka.brokers mean the same brokers on every machine: %w", cluster, t.Cluster,
				deployment.ErrHeaderMismatch)
		} else if err = changes.Agrees(d, control.Header); err != nil {
			err = fmt.Errorf("this worker's configuration or keys are not the run's: put the same ones on "+
				"every machine: %w", err)
		}
	}
	if err != nil {
		client.Close()
		return nil, nil, errors.Join(err, context.Cause(ctx))
	}
	return client, control, nil
}
