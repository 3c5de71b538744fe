package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// RunOptions configure a run; none of them changes the released values. With the zero value a run
// reads until ctx is cancelled or another run supersedes it.
type RunOptions struct {
	// Engine runs the stages; default: Direct.
	Engine Engine
	// Workers has the stages run in other processes, in place of Engine.
	Workers *Workers
	// Readers is how many READs share the partitions of the events topic; default 1, and no more
	// than partitions. One takes all that a machine has to give; more are for workers on
	// several machines.
	Readers int
	// Client, where given, is what AwaitBroker returned, so that a run does not connect a second
	// time; Run closes it. Default: Run connects, and does not wait for a broker.
	Client *Client
	// Logger receives what an operator should know; default: discards. No record
	// holds a user id, a key or a raw count.
	Logger *slog.Logger
	// Bounded ends the run at the end of the events topic, as it is at the start:
	// that end closes every window. Not together with UntilEnd.
	Bounded bool
	// Until is the end of the last window that is released, whatever the records contain. A bounded
	// run closes that window at the end of the topic; its default is the window of the last event.
	// Any other run ends once every turn that ends by then is settled: it waits for the clock and
	// closes no window early. Not together with UntilEnd.
	Until time.Time
	// UntilEnd ends the run once every turn with an event that was on the events topic at the start
	// is settled. It closes no window early but waits for the clock. So one record can decide which
	// windows appear last, and when: use Until if this matters.
	UntilEnd bool
	// Drain, when closed, makes the run finish the open turn and return. If an earlier run has left
	// a turn with decisions on the ledger, the run finishes that turn, too. If no broker responds,
	// or a partition cannot be written, it ends within ten seconds with ErrNoBroker or ErrStuck.
	Drain <-chan struct{}
	// OnStart is called once, before this run settles anything, with the position after the last
	// settled turn, for FollowReleases: this run publishes at that position or later.
	OnStart func(Position)
	// OnTakeOver is called once, with the host and start of the previous run, if control does not
	// record that run's end.
	OnTakeOver func(from string)
	// OnSettled is called after every settled turn, in order, never twice at the same time. No
	// stage waits for it; Run returns after the last call.
	OnSettled func(Settlement)
	// OnProgress is called about once a second while reading goes on, never twice at the
	// same time. Not with Bounded: there no clock closes a window.
	OnProgress func(Progress)
	// OnState is called about once a second, never concurrently.
	OnState func(RunState)
	// Strict refuses what a run otherwise only warns of: topics that can lose
	// acknowledged records together with one broker.
	Strict bool
	// Disposable is set if the topics end with the process, as in a demo: the run does not warn
	// about topics that are not durable, and does not log coarse record losses, which its caller
	// knows exactly.
	Disposable bool
	// StallLimit is how long an open turn may take, beside Outputs.PublishEvery, before the run
	// takes a new epoch; default 2 minutes. It doubles while the same turn is held up.
	StallLimit time.Duration
}

// Settlement describes a settled turn.
type Settlement struct {
	Turn      uint64    // turns are numbered from 1
	WindowEnd time.Time // where it ends, UTC
	Keys      int       // how many values were released
}

// Progress is how far a run has read, and when its next counts can appear, by the deployment's
// rules of time and what READ knows. Times are UTC.
type Progress struct {
	WindowEnd time.Time // end of the next metric window whose counts are not released
	// Earliest is when the clock shows that every partition can have brought a record late enough
	// to close the window; Latest is when the clock alone closes it, on partitions that are silent.
	// A partition whose end an open transaction hides can delay both. They mean nothing if record
	// times do not follow the clock.
	Earliest, Latest time.Time
	Closed           bool // the window is closed: its counts are under way
	// Lag is how far reading is behind the clock, by append times; 0 at the end of the events
	// topic, if its records are not behind the clock.
	Lag time.Duration
}

// RunResult describes the end of a run.
type RunResult struct {
	Settled    uint64   // the last settled turn of the deployment; 0 for none
	Drained    bool     // Drain ended the run
	OpenTurns  uint64   // with UntilEnd or Until: how many turns the run was to settle and did not
	Open       Progress // with OpenTurns: where the last of these ends, and what closes it
	Unread     bool     // with UntilEnd: drained before it had read all records that were on the topic at its start
	Superseded bool     // another run has superseded this one, which is not an error
	Successor  string   // with Superseded: host and start of the other run; "" if not known
}

// defaultStallLimit is far above any healthy turn.
const defaultStallLimit = 2 * time.Minute

// Run reads events and publishes counts until it is drained or superseded, or until it has settled
// the turns that Bounded, Until or UntilEnd require. Cancelling ctx ends it at once; the next run
// continues from there. Runs may start at any time, in this process or in others: the run that was
// announced last supersedes the others of the deployment.
//
// Errors: ErrNotInitialised, ErrHeaderMismatch, ErrTopicSettings (with ErrStrict if only strict
// checks fail), ErrStopped, ErrConflict, ErrLogFault, *spend.StopError, ErrNoBroker, ErrStuck, or
// the broker's error. After ErrConflict and *spend.StopError every later run ends with ErrStopped,
// until Recover.
func Run(ctx context.Context, d *deployment.Deployment, opts RunOptions) (result RunResult, err error) {
	var client *kafkalog.Client
	if opts.Client != nil {
		client = opts.Client.log
		defer client.Close()
	}
	if d == nil {
		return RunResult{}, errors.New("running: the deployment is nil: make one with Compile")
	}
	opts = opts.withDefaults()
	opts.StallLimit += d.Config.Outputs.PublishEvery
	if opts.Bounded && opts.UntilEnd {
		return RunResult{}, errors.New("running: set either Bounded, which closes every window at the end of the " +
			"topic, or UntilEnd, which closes no window early")
	}
	if opts.UntilEnd && !opts.Until.IsZero() {
		return RunResult{}, errors.New("running: set either UntilEnd, for which the records decide the end, or " +
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
	defer func() { err = watch.Named(client, err) }()
	stalls := watch.New(watch.RulesOf(d, opts.Bounded).After(crashpoint.From(ctx).StallAfter), opts.Logger)
	monitor := watch.Start(ctx, client, stalls, opts.Drain, cancel)
	defer monitor.Stop()
	// Closing the connections makes every stage of a cancelled run return, whatever its
	// engine does about ctx.
	defer context.AfterFunc(ctx, client.Close)()
	control, err := begin(ctx, d, client, topicrules.Options{Logger: opts.Logger, Strict: opts.Strict,
		Disposable: opts.Disposable})
	if err != nil {
		return RunResult{}, watch.UnlessEnded(ctx, err)
	}
	if opts.OnTakeOver != nil {
		from := ""
		control.WithView(func(v *controllog.View) {
			if v.Ended == nil {
				from = v.Worker
			}
		})
		if from != "" {
			opts.OnTakeOver(from)
		}
	}
	if err := countslog.CheckIntact(ctx, d, client, control); err != nil {
		return RunResult{}, watch.UnlessEnded(ctx, err)
	}
	terms, err := termsOf(ctx, d, client, control, opts)
	if err != nil {
		return RunResult{}, watch.UnlessEnded(ctx, err)
	}
	r := &run{stages: newStages(ctx, d, client, control, terms, opts.Logger)}
	defer r.close() //nolint:errcheck // on the first call there is already an error
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
		from, err := r.position(ctx)
		if err != nil {
			return RunResult{}, watch.UnlessEnded(ctx, err)
		}
		opts.OnStart(from)
	}
	defer notifySettled(r.stages, opts.Workers != nil, opts.OnSettled)()
	defer r.drainOn(ctx, opts.Drain)()
	if opts.Workers != nil {
		err = r.runOnWorkers(ctx, opts.Workers)
	} else {
		err = r.runLocally(ctx, opts.Engine)
	}
	if err != nil {
		r.cancelEnds() // the next run writes an end of a turn that still waits for its instant
	}
	if closed := r.close(); err == nil {
		err = closed
	}
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		err = fmt.Errorf("%w: a topic of this deployment may have been deleted; tollgate validate says which one, and "+
			"what to do", err)
	}
	return r.result(), err
}

func (o RunOptions) withDefaults() RunOptions {
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.Engine == nil {
		o.Engine = Direct
	}
	if o.StallLimit == 0 {
		o.StallLimit = defaultStallLimit
	}
	return o
}

// run is one call of Run.
type run struct{ *stages }

// position returns where what this run settles begins.
func (r *run) position(ctx context.Context) (Position, error) {
	ends, err := countslog.EndsOfTurns(ctx, r.client, r.dep)
	if err == nil {
		err = r.control.Update(ctx)
	}
	return Position(countslog.SettledPosition(r.control, r.dep, ends)), err
}

// pipeline builds the run's Beam pipeline, for workers if there are any.
func (r *run) pipeline(w *Workers) (*beam.Pipeline, error) {
	travels, err := r.terms.encode()
	if err != nil {
		return nil, err
	}
	p, s := beam.NewPipelineWithRoot()
	transforms.Build(s, transforms.Run{ID: r.terms.ID, Terms: travels}, w.layout(r.terms.Readers))
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
	case r.first != nil:
		return r.first
	case ctx.Err() != nil:
		return fmt.Errorf("running: %w", context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("running the pipeline: %w", err)
	case superseded:
		return nil
	}
	return stop
}

// endByControl reports whether control has a newer run, and returns the ErrStopped of a STOP.
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
