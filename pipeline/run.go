package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/countslog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

// RunOptions configure a run. They do not affect the values that the run releases. With the zero
// value, a run reads until ctx is cancelled or another run supersedes it.
type RunOptions struct {
	// Engine runs the stages; default: Direct.
	Engine Engine
	// Workers runs the stages in other processes. It replaces Engine.
	Workers *Workers
	// Readers is the number of READs that share the partitions of the events topic: default 1, at
	// most one for each partition. Use more only for workers on several machines: one reader can
	// saturate a machine.
	Readers int
	// Client is the client returned by AwaitBroker. Run closes it. If it is nil, Run connects
	// itself, without waiting for a broker.
	Client *Client
	// Logger receives messages for operators, without user ids, keys or raw counts; nil: discarded.
	Logger *slog.Logger
	// Bounded ends the run at the offsets at which the events topic ends when the run starts, and
	// closes every window there. It cannot be combined with UntilEnd.
	Bounded bool
	// Until is the end of the last window to release, even if records continue after it. A bounded
	// run closes that window at the end of the topic; its default is the window of the last event.
	// Any other run does not close windows early: it ends when every turn up to Until is settled.
	// Until cannot be combined with UntilEnd.
	Until time.Time
	// UntilEnd ends the run when every turn that has an event on the events topic at the start of
	// the run is settled. The run does not close windows early. A single record can decide which
	// windows appear last, and when: use Until if this matters.
	UntilEnd bool
	// Drain, when closed, makes the run return. The run first finishes the open turn, and any turn
	// that an earlier run left unfinished with decisions on the ledger. If no broker responds, or a
	// partition cannot be written, it ends within ten seconds with ErrNoBroker or ErrStuck.
	Drain <-chan struct{}
	// OnStart is called once, before the run settles a turn. It receives the position after the
	// last settled turn, for FollowReleases.
	OnStart func(Position)
	// OnTakeOver is called once if control contains no END of the previous run. It receives the
	// host and start time of that run.
	OnTakeOver func(from string)
	// OnSettled is called after every settled turn, in order, never concurrently. No stage waits
	// for it; Run returns after the last call.
	OnSettled func(Settlement)
	// OnProgress is called about once a second while READ is active, never concurrently. It is not
	// called with Bounded, because the clock then does not close windows.
	OnProgress func(Progress)
	// OnState is called about once a second, never concurrently.
	OnState func(RunState)
	// Strict makes a run fail if its topics can lose acknowledged records when one broker fails.
	// Without Strict, a run only warns.
	Strict bool
	// Disposable is set if the topics end with the process, as in a demo. The run then does not
	// warn about their durability, nor log lost records, whose exact numbers its caller knows.
	Disposable bool
	// StallLimit is how long an open turn may take, in addition to Outputs.PublishEvery, before the
	// run starts a new epoch. The default is 2 minutes. It doubles while the turn does not settle.
	StallLimit time.Duration
}

// Settlement describes a settled turn.
type Settlement struct {
	Turn      uint64    // turns are numbered from 1
	WindowEnd time.Time // end of the turn, UTC
	Keys      int       // number of released values
}

// Progress describes what a run has read, and when its next counts can appear. Times are UTC.
type Progress struct {
	WindowEnd time.Time // end of the next metric window whose counts have not been released
	// Earliest is the earliest time at which records can close the window. Latest is when the clock
	// closes the window on silent partitions. An open transaction at the end of a partition can
	// delay both. Both are meaningless if record times do not follow the clock.
	Earliest, Latest time.Time
	Closed           bool // the window is closed, but its counts have not been released
	// Lag is the delay between append time and reading. At the end of the events topic it is 0,
	// unless the topic's records are older than the clock.
	Lag time.Duration
}

// RunResult describes the end of a run.
type RunResult struct {
	Settled    uint64   // the last settled turn of the deployment; 0: none
	Drained    bool     // Drain ended the run
	OpenTurns  uint64   // with UntilEnd or Until: number of required turns that the run did not settle
	Open       Progress // with OpenTurns: the end of the last such turn, and when it can close
	Unread     bool     // with UntilEnd: drained before all records present at the start were read
	Superseded bool     // another run has superseded this one; not an error
	Successor  string   // with Superseded: host and start time of the other run; "" if unknown
}

// defaultStallLimit is far longer than any turn takes in a healthy deployment.
const defaultStallLimit = 2 * time.Minute

// Run reads events and publishes counts until it is drained or superseded, or until it has settled
// the turns that Bounded, Until or UntilEnd require. If ctx is cancelled, Run ends at once, and the
// next run continues from there. Runs may start at any time, in any process. The run that was
// announced last supersedes the deployment's other runs.
//
// Errors: ErrNotInitialised, ErrHeaderMismatch, ErrTopicSettings (with ErrStrict if only strict
// checks fail), ErrStopped, ErrConflict, ErrLogFault, *spend.StopError, ErrNoBroker, ErrStuck, or
// the broker's error. After ErrConflict or *spend.StopError, later runs end with ErrStopped until
// Recover is called.
func Run(ctx context.Context, d *deployment.Deployment, opts RunOptions) (result RunResult, err error) {
	var client *kafkalog.Client
	if opts.Client != nil {
		client = opts.Client.log
		defer client.Close()
	}
	if d == nil {
		return RunResult{}, errors.New("running: the deployment is nil: create one with Compile")
	}
	opts = opts.withDefaults()
	opts.StallLimit += d.Config.Outputs.PublishEvery
	if opts.Bounded && opts.UntilEnd {
		return RunResult{}, errors.New("running: set either Bounded, which closes every window at the end of the " +
			"topic, or UntilEnd, which does not close windows early")
	}
	if opts.UntilEnd && !opts.Until.IsZero() {
		return RunResult{}, errors.New("running: set either UntilEnd, with which the records decide the end, or " +
			"Until, a time")
	}
	if opts.StallLimit < 0 {
		return RunResult{}, fmt.Errorf("running with a StallLimit of %v: it must not be negative (0 means %v)",
			opts.StallLimit, defaultStallLimit)
	}
	if err := opts.Workers.check(d); err != nil {
		return RunResult{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if client == nil {
		if client, err = connect.Dial(ctx, d.Config.Kafka, opts.Logger); err != nil {
			return RunResult{}, err
		}
		defer client.Close()
	}
	defer func() { err = watch.WithUnreachable(client, err) }()
	stalls := watch.New(watch.RulesOf(d, opts.Bounded).WithStallAfter(crashpoint.From(ctx).StallAfter), opts.Logger)
	monitor := watch.Start(ctx, client, stalls, opts.Drain, cancel)
	defer monitor.Stop()
	// Closing the connections ends every stage of a cancelled run, even if the engine ignores ctx.
	defer context.AfterFunc(ctx, client.Close)()
	control, err := begin(ctx, d, client, topicrules.Options{Logger: opts.Logger, Strict: opts.Strict,
		Disposable: opts.Disposable})
	if err != nil {
		return RunResult{}, watch.CauseOr(ctx, err)
	}
	control.WithView(func(v *controllog.View) {
		if opts.OnTakeOver != nil && v.Ended == nil && v.Worker != "" {
			opts.OnTakeOver(v.Worker)
		}
	})
	if err := countslog.CheckIntact(ctx, d, client, control); err != nil {
		return RunResult{}, watch.CauseOr(ctx, err)
	}
	terms, err := termsOf(ctx, d, client, control, opts)
	if err != nil {
		return RunResult{}, watch.CauseOr(ctx, err)
	}
	r := &run{stages: newStages(ctx, d, client, control, terms, opts.Logger)}
	defer r.close() //nolint:errcheck // an error of the first call is returned below; later calls repeat it
	r.stalls, r.monitor = stalls, monitor
	monitor.EverySecond(r.losses.Check)
	monitor.EverySecond(func(time.Time) {
		for _, topic := range []string{d.Config.Outputs.Ledger, d.Config.Outputs.Counts} {
			stalls.ObserveWork(client.Appended(topic))
		}
	})
	defer func() { r.losses.Check(time.Now()) }() // a run may end before the first check
	if opts.OnState != nil {
		monitor.EverySecond(r.reportState(opts, client))
	}
	if opts.OnProgress != nil && !opts.Bounded {
		monitor.EverySecond(func(now time.Time) {
			if o, known := stalls.Outlook(now); known {
				opts.OnProgress(Progress(o))
			}
		})
	}
	if opts.OnStart != nil {
		start, err := r.position(ctx)
		if err != nil {
			return RunResult{}, watch.CauseOr(ctx, err)
		}
		opts.OnStart(start)
	}
	defer notifySettled(r.stages, opts.Workers != nil, opts.OnSettled)()
	defer r.drainOn(ctx, opts.Drain)()
	if opts.Workers != nil {
		err = r.runOnWorkers(ctx, opts.Workers)
	} else {
		err = r.runLocally(ctx, opts.Engine)
	}
	if err != nil {
		r.cancelEnds() // the next run writes the ends of turns that still wait for their publication time
	}
	if closeErr := r.close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		err = fmt.Errorf("%w: a topic of this deployment may have been deleted; tollgate validate shows which one, "+
			"and what to do", err)
	}
	return r.result(), err
}

func (o RunOptions) withDefaults() RunOptions {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.StallLimit = cmp.Or(o.StallLimit, defaultStallLimit)
	if o.Engine == nil {
		o.Engine = Direct
	}
	return o
}

// run is one call of Run.
type run struct{ *stages }

// position returns the position after the last settled turn.
func (r *run) position(ctx context.Context) (Position, error) {
	p, err := countslog.CurrentPosition(ctx, r.client, r.dep, func() (*controllog.Log, error) {
		return r.control, r.control.Update(ctx)
	})
	return Position(p), err
}

// pipeline builds the run's Beam pipeline. w is nil if the stages run in this process.
func (r *run) pipeline(w *Workers) (*beam.Pipeline, error) {
	encoded, err := r.terms.encode()
	if err != nil {
		return nil, err
	}
	p, s := beam.NewPipelineWithRoot()
	transforms.Build(s, transforms.Run{ID: r.terms.ID, Terms: encoded}, w.layout(r.terms.Readers))
	return p, nil
}

// runLocally runs the pipeline on an engine in this process.
func (r *run) runLocally(ctx context.Context, engine Engine) error {
	forget, err := transforms.Register(r.terms.ID, r.runtime())
	if err != nil {
		return err
	}
	defer forget()
	p, err := r.pipeline(nil)
	if err != nil {
		return err
	}
	err = engine(ctx, p)
	r.mu.Lock()
	defer r.mu.Unlock()
	superseded, stop := r.endByControl()
	switch {
	case r.superseded:
		return nil
	case r.firstErr != nil:
		return r.firstErr
	case ctx.Err() != nil:
		return fmt.Errorf("running: %w", context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("running the pipeline: %w", err)
	case superseded:
		return nil
	}
	return stop
}

// endByControl reports whether control has a newer run, and returns ErrStopped if it has a STOP.
func (r *run) endByControl() (superseded bool, stop error) {
	r.control.WithView(func(v *controllog.View) {
		superseded = v.Run > r.terms.Run
		if v.Stop != nil {
			stop = controllog.Stopped(v.Stop)
		}
	})
	return superseded, stop
}

func (r *run) result() RunResult {
	superseded, _ := r.endByControl()
	out := RunResult{Superseded: superseded || r.superseded}
	owed := uint64(0)
	r.control.WithView(func(v *controllog.View) {
		out.Settled = v.Settled
		if v.Run > r.terms.Run {
			out.Successor = v.Worker
		}
		if v.Ended != nil && v.Run == r.terms.Run {
			out.Drained, owed = v.Ended.Drained, v.Ended.Owed
		}
	})
	switch {
	case owed == schemas.OwedUnknown:
		out.Unread = true
	case owed > out.Settled:
		out.OpenTurns = owed - out.Settled
		end := r.turns.End(owed)
		rules := watch.RulesOf(r.dep, false)
		out.Open.WindowEnd = time.UnixMilli(end).UTC()
		out.Open.Earliest, out.Open.Latest = rules.Closes(end)
	}
	return out
}
