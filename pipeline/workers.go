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
// pipeline, follows the control log, and reports as a run in one process does; everything else is
// in the workers' own logs.
type Workers struct {
	// Engine submits the pipeline and returns when its job has ended. It cancels the job when ctx
	// ends.
	Engine func(ctx context.Context, p *beam.Pipeline, job Job) error
	// Config locates the configuration for workers. It is the argument of load in OpenRuns.
	Config string
	// Tasks is the number of the engine's tasks for each stage, and of the elements into which the
	// shards of a turn are packed (transforms.Layout). 0: unknown, and each shard has its own
	// element.
	Tasks int
	// Spread returns n distinct keys that the engine distributes evenly over its tasks; nil: 0 to n
	// − 1.
	Spread func(n int) []int
}

// layout returns the layout of a pipeline with a number of readers; w may be nil.
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

// Job describes the job of a pipeline to an engine.
type Job struct {
	// Name is the same for every job of the deployment, and unique to it. Before an engine starts a
	// job, it ends older jobs of that name, because their runs are superseded.
	Name string
	// Failing is called with the text of a failure before the engine restarts the job. If it
	// returns an error, Engine ends the job and returns that error.
	Failing func(cause string) error
}

// WorkerPublishEvery is the greatest Outputs.PublishEvery of a run with Workers, because a task of
// the engine waits while values wait for their publication time.
const WorkerPublishEvery = 10 * time.Second

// check returns an error if workers cannot run the deployment; w may be nil.
func (w *Workers) check(d *deployment.Deployment) error {
	if w == nil {
		return nil
	}
	if w.Engine == nil {
		return errors.New("running with workers: Workers.Engine is missing: package pipeline/flink has one")
	}
	if every := d.Config.Outputs.PublishEvery; every > WorkerPublishEvery {
		return deployment.Invalid("Outputs.PublishEvery", "%v is above %v, the longest that a task of the engine can "+
			"wait: lower it, or run in one process", every, WorkerPublishEvery)
	}
	return nil
}

// ErrWorker means that workers cannot run a deployment; the text contains one worker's error.
var ErrWorker = errors.New("a worker failed")

// earlyFailures limits the failures of a job before the run's first epoch.
const earlyFailures = 3

// judgeFailures returns a Job.Failing, which returns an error if restarting the job would not help.
func (r *run) judgeFailures() func(cause string) error {
	early := 0
	return func(cause string) error {
		started := false
		r.control.WithView(func(v *controllog.View) { started = v.Run >= r.terms.Run })
		cause, err := decoded(cause)
		if err != nil && (err != errOpening || !started) { //nolint:errorlint // one of the table
			return fmt.Errorf("%w: %w: %s", ErrWorker, err, cause)
		}
		if early++; !started && early >= earlyFailures {
			return fmt.Errorf("%w %d times before anything was read: %s", ErrWorker, early, cause)
		}
		r.log.Warn("the job failed and is restarted", "cause", cause)
		return nil
	}
}

// errOver cancels a job whose run has ended.
var errOver = errors.New("the run is over")

// overLimit is how long a job may take to end by itself after its run, in addition to the wait for
// the ends of turns: some engines never end a job.
const overLimit = time.Second

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
	var following sync.WaitGroup
	var lost error
	following.Go(func() {
		if err := r.follow(job, cancel); err != nil && job.Err() == nil {
			lost = err // otherwise the end of the job has interrupted it
			cancel(lost)
		}
	})
	h := r.control.Header
	err = w.Engine(job, p, Job{Name: fmt.Sprintf("tollgate %s %x", h.Deployment, h.Incarnation[:4]),
		Failing: r.judgeFailures()})
	over := errors.Is(context.Cause(job), errOver)
	cancel(nil)
	following.Wait()
	if cause := context.Cause(ctx); cause != nil {
		switch { // err may only say that cancelling the job failed
		case errors.Is(err, cause):
		case lost != nil && err != nil: // the same cause first interrupted follow
			err = fmt.Errorf("%w: %w", cause, err)
		default:
			err = cause
		}
		return fmt.Errorf("running: %w", err)
	}
	if lost != nil {
		return fmt.Errorf("following control: %w", lost)
	}
	if uerr := r.control.Update(ctx); uerr != nil {
		return errors.Join(err, uerr)
	}
	superseded, stop := r.endByControl()
	ended, later := false, false
	r.control.WithView(func(v *controllog.View) {
		ended, later = v.Ended != nil && v.Run == r.terms.Run, v.Announced > r.terms.Run
	})
	switch {
	case superseded || ended:
		return nil
	case stop != nil:
		return stop
	case err == nil || over:
		return errors.New("running: the job ended before the run, perhaps because it was cancelled: start a run to " +
			"continue")
	case later:
		r.superseded = true
		return nil
	}
	return fmt.Errorf("running: %w", err)
}

// follow reads control until ctx ends, and cancels a job that does not end by itself after its run.
// It repeats a DRAIN after a later EPOCH, because the process of that epoch may have begun to read
// control after the DRAIN.
func (r *run) follow(ctx context.Context, cancel context.CancelCauseFunc) error {
	fetcher := r.client.NewFetcher()
	defer fetcher.Close()
	var since time.Time
	var moved lastMoves
	drainEpoch, reported := int64(-1), time.Time{}
	for ctx.Err() == nil {
		var from, epoch int64
		drained, over := false, false
		r.control.WithView(func(v *controllog.View) {
			from, epoch, drained = v.Next, v.Epoch, v.Drained(r.terms.Run)
			over = v.Run > r.terms.Run || v.Run == r.terms.Run && v.Ended != nil || v.Stop != nil
		})
		switch now := time.Now(); {
		case over && since.IsZero():
			since = now
		case over && now.Sub(since) > overLimit+r.dep.Config.Outputs.PublishEvery/10:
			cancel(errOver)
		case drained && drainEpoch < 0:
			drainEpoch = epoch
		case drained && drainEpoch != epoch && !over:
			drainEpoch = epoch
			if err := r.appendControl(ctx, &schemas.Drain{Run: r.terms.Run}); err != nil {
				return err
			}
		case now.Sub(reported) > time.Second:
			reported = now
			if err := r.observeProgress(ctx, &moved, now); err != nil {
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

// lastMoves are the last closed and settled turns, and the time since which they have not changed.
type lastMoves struct {
	closed, settled uint64
	since           time.Time
}

// delay returns by how much the records of partitions are behind a time: the longest time since an
// append time or, for silent partitions, the longest lag.
func delay(cuts []schemas.Cut, now time.Time) (most time.Duration) {
	for i := range cuts {
		switch {
		case cuts[i].Idle:
			most = max(most, time.Duration(cuts[i].Lag)*time.Millisecond)
		case cuts[i].AppendTime != calendar.Never:
			most = max(most, now.Sub(time.UnixMilli(cuts[i].AppendTime)))
		}
	}
	return most
}

// observeProgress reports the progress on control and the ends of the events topic to stalls.
func (r *run) observeProgress(ctx context.Context, moved *lastMoves, now time.Time) error {
	p := watch.Progress{End: calendar.Forever, Behind: calendar.Forever}
	cuts, times := map[int32]int64{}, map[int32]int64{}
	r.control.WithView(func(v *controllog.View) {
		p.Result = r.turns.NextEnd(v.Settled)
		p.End = r.turns.End(v.Closed + 1)
		p.Closed = v.Closed > v.Settled && r.turns.End(v.Closed) >= p.Result
		if moved.since.IsZero() || moved.closed != v.Closed || moved.settled != v.Settled {
			*moved = lastMoves{v.Closed, v.Settled, now}
		}
		if v.Closed > v.Settled {
			p.Open, p.OpenedAt = v.Settled+1, moved.since
		}
		if c := v.Closes[v.Closed]; c != nil {
			if r.dep.Config.Time.Trust == deployment.TrustProducer {
				p.Delay = delay(c.Cuts, moved.since)
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

// OpenRuns lets this process, a worker, open the runs whose stages an engine assigns to it. load
// reads the configuration that Workers.Config names. Errors of a worker reach Run as text, and end
// it if a restart would not help.
func OpenRuns(load func(config string) (*Deployment, error), log *slog.Logger) {
	transforms.OpenRuns(opener(load, log))
}

func opener(load func(config string) (*Deployment, error), log *slog.Logger) transforms.Opener {
	return func(run transforms.Run) (*transforms.Runtime, error) {
		rt, err := openRun(run, load, log)
		if err != nil {
			return nil, coded(fmt.Errorf("opening run %s: %w: %w", run.ID, errOpening, err))
		}
		return rt, nil
	}
}

// openLimit limits how long a worker connects to Kafka and opens control.
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
		return coded(err)
	}
	rt.Source, rt.Spender, rt.Releaser, rt.Settler = codedOpen(rt.Source), codedOpen(rt.Spender),
		codedOpen(rt.Releaser), codedOpen(rt.Settler)
	rt.Close = func() {
		s.monitor.Stop()
		_ = s.close() // the next run writes the ends of turns that were not written
		client.Close()
		cancel()
	}
	return rt, nil
}

// dialControl connects to Kafka and opens control. It returns an error if the deployment, cluster
// or configuration is not the run's.
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
		if have := hex.EncodeToString(control.Header.Incarnation[:]); have != t.Incarnation {
			err = fmt.Errorf("this worker reaches a deployment that is not the run's: topic %s has incarnation %s, "+
				"but the run's is %s; let the names in kafka.brokers mean the same brokers on every machine: %w",
				d.Config.Outputs.Control, have, t.Incarnation, deployment.ErrHeaderMismatch)
		} else if cluster, idErr := client.ClusterID(ctx); idErr != nil {
			err = fmt.Errorf("reading the cluster's id: %w", idErr)
		} else if cluster != t.Cluster { // after a failover both have the incarnation
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
