package pipeline

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/tollgate-dp/tollgate/internal/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/localrunner"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/generations"
	"github.com/tollgate-dp/tollgate/pipeline/internal/ledgerlog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/publishing"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// RunOptions say how a run behaves; nothing in them changes what is released. The
// zero value reads until ctx is cancelled or another run takes over.
type RunOptions struct {
	// Logger is told what an operator should know; default: discards. No record
	// holds a user id, a key or a raw count.
	Logger *slog.Logger
	// Bounded ends the run at the end of the events topic, as it is at the start:
	// that end closes every window. Not together with UntilEnd.
	Bounded bool
	// Until is the end of the last window that is released, whatever the records
	// say. A bounded run closes that window at the end of the topic; its default is
	// the window of the last event. Any other run ends once every turn that ends by
	// then is settled: it closes no window early, but waits for the clock. Not
	// together with UntilEnd.
	Until time.Time
	// UntilEnd ends the run once every turn that owns an event below the ends
	// of the events topic, as they are at the start, is settled. It closes no
	// window early: where the clock has to close the last ones, it waits. So one
	// record can decide which windows appear last, and how long that takes: use
	// Until where this matters.
	UntilEnd bool
	// Drain, when closed, lets the run finish the open turn and return. While no
	// broker answers, or a partition cannot be written to, it ends within ten seconds
	// all the same, with ErrNoBroker or ErrStuck.
	Drain <-chan struct{}
	// OnStart is called once, before this run settles anything, with the position after
	// the last settled turn: whatever this run settles stands there or later.
	// FollowReleases takes it.
	OnStart func(Position)
	// OnSettled is called after every settled turn, once for all turns of a span,
	// never twice at the same time. The stage that settles waits until it returns.
	OnSettled func(Settlement)
	// OnProgress is called about once a second while reading goes on, never twice at the
	// same time. Not with Bounded: there no clock closes a window.
	OnProgress func(Progress)
	// Strict refuses what a run otherwise only warns of: topics that can lose
	// acknowledged records together with one broker.
	Strict bool
	// Disposable says that the topics end with the process, as a demo's do: a run
	// does not warn of topics that are not durable, nor says coarsely what is wrong with
	// the records, of which its caller knows more.
	Disposable bool
	// StallLimit is how long an open turn may take, beside Outputs.PublishEvery,
	// before the run takes a new epoch; default 2 minutes.
	StallLimit time.Duration
}

// Settlement tells of a settled turn, or of a span: the turns First to Turn,
// settled together.
type Settlement struct {
	First, Turn uint64    // turns are numbered from 1
	WindowEnd   time.Time // where Turn ends, UTC
	Keys        int       // how many cells were released in all of these turns
}

// Progress says how far a run has read, and when its next counts can appear.
type Progress = watch.Outlook

// RunResult says how a run ended.
type RunResult struct {
	Settled    uint64   // the last settled turn of the deployment; 0 for none
	Drained    bool     // Drain ended the run
	OpenTurns  uint64   // with UntilEnd or Until: how many turns the run was to settle and did not
	Open       Progress // with OpenTurns: where the last of these ends, and what closes it
	Superseded bool     // another run has taken over, which is no error
}

// defaultStallLimit is far above any healthy turn.
const defaultStallLimit = 2 * time.Minute

// oneRun allows one pipeline per process: the local runner's job options are
// global.
var oneRun sync.Mutex

// Run reads events and publishes counts until it is drained or superseded, or
// until it has settled what Bounded, Until or UntilEnd ask for. Cancelling ctx ends
// it at once; the next run takes up whatever was under way. One run at a time in a
// process; further calls wait. Runs of other processes may start at any time: the
// one that was announced last takes over.
//
// Errors: ErrNotInitialised, ErrHeaderMismatch, ErrTopicSettings (with ErrStrict
// where strictness alone refuses), ErrPromiseWeakened, ErrStopped, ErrConflict,
// ErrLogFault, *spend.StopError, ErrNoBroker, ErrStuck, or what the broker said.
// After ErrConflict and *spend.StopError every later run ends with ErrStopped, until
// Recover.
func Run(ctx context.Context, d *deployment.Deployment, opts RunOptions) (result RunResult, err error) {
	oneRun.Lock()
	defer oneRun.Unlock()
	opts = opts.withDefaults()
	opts.StallLimit += d.Config.Outputs.PublishEvery
	if opts.Bounded && opts.UntilEnd {
		return RunResult{}, errors.New("running: Bounded closes every window at the end of the topic, UntilEnd closes none early: choose one")
	}
	if opts.UntilEnd && !opts.Until.IsZero() {
		return RunResult{}, errors.New("running: UntilEnd ends where the records say, Until at a time of its own: choose one")
	}
	if err := localrunner.CheckTempDir(); err != nil {
		return RunResult{}, fmt.Errorf("running: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	client, err := connect.Dial(ctx, d.Config.Kafka, opts.Logger)
	if err != nil {
		return RunResult{}, err
	}
	defer client.Close()
	defer func() { err = watch.Named(client, err) }()
	stalls := watch.New(watch.RulesOf(d, opts.Bounded, opts.StallLimit), opts.Logger)
	looks := watch.Start(ctx, client, stalls, opts.Drain, cancel)
	defer looks.Stop()
	// The engine's own context ends with the job only: closing the connections
	// is what makes every stage of a cancelled run return.
	defer context.AfterFunc(ctx, client.Close)()
	t, err := begin(ctx, d, client, topicrules.Options{Logger: opts.Logger, Strict: opts.Strict, Disposable: opts.Disposable})
	if err != nil {
		return RunResult{}, watch.UnlessEnded(ctx, err)
	}
	r, err := newRun(ctx, d, client, t, stalls, opts)
	if err != nil {
		return RunResult{}, watch.UnlessEnded(ctx, err)
	}
	defer r.close() //nolint:errcheck // where it is the first call, there is an error already
	looks.Also(r.losses.Look)
	defer func() { r.losses.Look(time.Now()) }() // a run may end before the first look
	if opts.OnProgress != nil && !opts.Bounded {
		looks.Also(func(now time.Time) {
			if o, known := stalls.Outlook(now); known {
				opts.OnProgress(o)
			}
		})
	}
	if opts.OnStart != nil {
		from, err := r.position(ctx, client)
		if err != nil {
			return RunResult{}, watch.UnlessEnded(ctx, err)
		}
		opts.OnStart(from)
	}
	if opts.Bounded && !opts.Until.IsZero() && opts.Until.UnixMilli() <= r.control.Header.StartMillis {
		return RunResult{}, fmt.Errorf("running until %s: the deployment starts at %s", opts.Until.UTC().Format(time.RFC3339), time.UnixMilli(r.control.Header.StartMillis).UTC().Format(time.RFC3339))
	}
	err = r.execute(ctx)
	if err != nil {
		r.giveUp() // an end of a turn that waits for its instant is the next run's to tell
	}
	if closed := r.close(); err == nil {
		err = closed
	}
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		err = fmt.Errorf("%w: was a topic of this deployment deleted? What it held is needed: restore it; the next start says which one it is", err)
	}
	return r.result(), err
}

func (o RunOptions) withDefaults() RunOptions {
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.StallLimit == 0 {
		o.StallLimit = defaultStallLimit
	}
	return o
}

// run holds everything that one Run has open.
type run struct {
	dep      *deployment.Deployment
	id       string
	control  *controllog.Log
	turns    *calendar.Turns
	source   *reading.Source
	ledger   *ledgerlog.Store
	releaser transforms.Releaser
	settler  transforms.Settler
	losses   *watch.Losses // nil for a run whose caller has the input

	giveUp  context.CancelFunc // ends of turns are not told any more
	closing sync.Once
	closed  error

	mu         sync.Mutex
	first      error // of any stage, with its type
	superseded bool  // a stage failed because another run had taken over
}

// notifier hands a settled span to OnSettled.
func notifier(told func(Settlement)) func(settled schemas.Settled, end int64) {
	if told == nil {
		return nil
	}
	return func(s schemas.Settled, end int64) {
		told(Settlement{First: s.First, Turn: s.Turn, WindowEnd: time.UnixMilli(end).UTC(), Keys: len(s.Keys)})
	}
}

func newRun(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, control *controllog.Log, stalls *watch.Stalls, opts RunOptions) (*run, error) {
	if err := topicrules.Intact(ctx, d, client, control); err != nil {
		return nil, err
	}
	control.At = crashpoint.From(ctx).At
	r := &run{dep: d, control: control, id: hex.EncodeToString(control.RunID[:]), turns: calendar.New(control.Header, d.Config.Privacy.Period), ledger: ledgerlog.New(client, control, d)}
	if !opts.Disposable {
		r.losses = watch.NewLosses(watch.LossRulesOf(d, time.UnixMilli(control.Header.StartMillis)), opts.Logger)
	}
	var err error
	r.source, err = reading.New(ctx, d, client, control, reading.Options{Bounded: opts.Bounded, Until: opts.Until, UntilEnd: opts.UntilEnd,
		Drain: opts.Drain, StallLimit: opts.StallLimit, Logger: opts.Logger, Stalls: stalls, Losses: r.losses})
	if err != nil {
		return nil, err
	}
	telling, giveUp := context.WithCancel(ctx)
	r.giveUp = giveUp
	if r.releaser, err = publishing.NewReleaser(client, control, d, r.turns, r.source.Lose); err == nil {
		r.settler, err = publishing.NewSettler(telling, client, control, d, r.turns, notifier(opts.OnSettled))
	}
	if err != nil {
		giveUp()
		r.source.Close()
		return nil, err
	}
	return r, nil
}

// position returns where what this run settles begins.
func (r *run) position(ctx context.Context, client *kafkalog.Client) (Position, error) {
	ends, err := endsOfTurns(ctx, client, r.dep)
	if err == nil {
		err = r.control.Update(ctx)
	}
	return position(r.control, r.dep, ends), err
}

// execute runs the Beam pipeline on the local runner.
func (r *run) execute(ctx context.Context) error {
	rules, err := generations.Rules(r.dep, r.control.Header)
	if err != nil {
		return err
	}
	engine, err := spend.NewEngine(spend.Options{
		Rules: rules, Ledger: r.ledger, Settlements: r.control,
		Ending: r.turns.Ending, Windows: r.turns, Forget: crashpoint.From(ctx).Forget,
		Lost: r.source.Lose,
	})
	if err != nil {
		return err
	}
	var source transforms.Source = r.source
	if restore := crashpoint.From(ctx).Restore; restore != nil {
		source = &crashpoint.Restoring{Source: r.source, Restore: restore}
	}
	forget, err := transforms.Register(r.id, &transforms.Runtime{
		Source: source, Spender: engine, Releaser: r.releaser, Settler: r.settler, Fail: r.fail(ctx),
	})
	if err != nil {
		return err
	}
	defer forget()
	initBeam()
	p, s := beam.NewPipelineWithRoot()
	transforms.Build(s, r.id)
	_, err = prism.Execute(context.WithoutCancel(ctx), p)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.superseded:
		return nil
	case r.first != nil:
		return r.first
	case ctx.Err() != nil:
		return fmt.Errorf("running: %w", context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("running the pipeline: %w", err)
	}
	return nil
}

// fail keeps the first error of any stage. For one that no restart may pass over it
// writes a STOP, with which every later start refuses to run. Before it believes any
// error it reads control again: what looks like lost records to a run that was taken
// over is its successor's work.
func (r *run) fail(ctx context.Context) func(error) {
	return func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.first != nil || ctx.Err() != nil {
			return
		}
		r.first = err
		over, epoch, werr := r.control.Past(ctx)
		if werr == nil && over {
			r.superseded = true
			return
		}
		var stop *spend.StopError
		if !errors.As(err, &stop) {
			return
		}
		var control *controllog.Writer
		if werr == nil {
			control, werr = controllog.NewWriter(ctx, r.control)
		}
		if werr == nil {
			defer control.Close()
			_, werr = control.Append(ctx, &schemas.Stop{Epoch: epoch, Turn: stop.Turn, Reason: stop.Error()})
		}
		if werr != nil {
			r.first = fmt.Errorf("%w (and writing the STOP failed: %w)", err, werr)
		}
	}
}

func (r *run) result() RunResult {
	drained, superseded, owed := r.source.Ended()
	out := RunResult{Drained: drained, Superseded: superseded || r.superseded}
	r.control.Look(func(v *controllog.View) { out.Settled = v.Settled })
	if owed > out.Settled {
		out.OpenTurns = owed - out.Settled
		end := r.turns.End(owed)
		rules := watch.RulesOf(r.dep, false, 0)
		out.Open.WindowEnd = time.UnixMilli(end).UTC()
		out.Open.Earliest, out.Open.Latest = rules.Closes(end)
	}
	return out
}

// close ends what the run has open, once, and returns what prevented the ends of its turns from
// being told.
func (r *run) close() error {
	r.closing.Do(func() {
		r.source.Close()
		r.ledger.Close()
		if c, ok := r.releaser.(io.Closer); ok {
			_ = c.Close() // connections to Kafka: closing them does not fail
		}
		if c, ok := r.settler.(io.Closer); ok {
			r.closed = c.Close()
		}
		r.giveUp()
	})
	return r.closed
}
