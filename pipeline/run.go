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

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// RunOptions say how a run behaves; nothing in them changes what is released.
type RunOptions struct {
	Logger *slog.Logger // default: discards
	// Bounded ends the run: the end of the events topic, as it is at the
	// start, closes every window.
	Bounded bool
	// Until is the end of the last window that is released, whatever the records
	// say. A bounded run closes it at the end of the topic; default there: the
	// window of the last event. Any other run ends once every turn that ends by then
	// is settled: it closes none early, but waits for the clock.
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
	// OnStart is called once, before this run settles anything, with the offsets of
	// the partitions of counts behind the last settled turn: whatever this run
	// settles stands there or later (FollowReleases).
	OnStart func(counts []int64)
	// OnSettled is called after every settled turn, once for all turns of a
	// joint, from one goroutine.
	OnSettled func(Settlement)
	// Strict refuses what is else only warned of: topics that lose what was
	// acknowledged with one broker.
	Strict bool
	// Disposable says that the topics end with the process, as a demo's do:
	// nothing is said about how durable they are.
	Disposable bool
	// StallLimit is how long an open turn may take before the run takes a new
	// epoch; default 2 minutes.
	StallLimit time.Duration
	// Hooks are for tests of restarts.
	Hooks Hooks
}

// Settlement tells of a settled turn, or of a joint: the turns First to Turn,
// settled together.
type Settlement struct {
	First, Turn uint64
	WindowEnd   time.Time // of Turn
	Keys        int       // released in all of them
}

// Hooks let tests play what engines do. The zero value changes nothing.
type Hooks struct {
	// Forget is asked before every shard's turn what the process forgets.
	Forget func(shard int, turn uint64) spend.Forgetting
	// At is called right before and right after every kind of write, from any
	// goroutine: it may delay, or kill its own process. An error fails the
	// write. shard is −1 for control.
	At func(point string, shard int) error
	// Restore, asked before every step of READ, makes the engine hand back the
	// step before: an older restriction and older elements.
	Restore func(step int) bool
}

// RunResult says how a run ended.
type RunResult struct {
	Settled    uint64 // the last settled turn
	Drained    bool   // Drain ended it
	OpenTurns  uint64 // with UntilEnd or Until: turns that the run was to settle and did not
	Superseded bool   // another run has taken over
}

// defaultStallLimit is far above any healthy turn.
const defaultStallLimit = 2 * time.Minute

// oneRun allows one pipeline per process: the local runner's job options are
// global.
var oneRun sync.Mutex

// Run reads events and publishes counts until it is drained, superseded or, if
// bounded, done. Cancelling ctx ends it at once; whatever was under way is
// taken up by the next run. One run at a time in a process; further calls wait.
//
// Errors: ErrNotInitialised, ErrHeaderMismatch, ErrStopped, ErrConflict,
// ErrLogFault, *spend.StopError, ErrNoBroker, ErrStuck, or what the broker said.
func Run(ctx context.Context, d *Deployment, opts RunOptions) (RunResult, error) {
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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	client, err := Dial(ctx, d.Config.Kafka, opts.Logger)
	if err != nil {
		return RunResult{}, err
	}
	defer client.Close()
	stalls := newStalls(stallRulesOf(d, opts), opts.Logger)
	defer watch(ctx, client, stalls, opts.Drain, cancel)()
	// The engine's own context ends with the job only: closing the connections
	// is what makes every stage of a cancelled run return.
	defer context.AfterFunc(ctx, client.Close)()
	t, err := begin(d, ctx, client, CheckOptions{Logger: opts.Logger, Strict: opts.Strict, disposable: opts.Disposable})
	if err != nil {
		return RunResult{}, unlessEnded(ctx, err)
	}
	r, err := newRun(ctx, d, client, t, opts)
	if err != nil {
		return RunResult{}, unlessEnded(ctx, err)
	}
	r.reader.stalls = stalls
	defer r.close()
	if opts.OnStart != nil {
		opts.OnStart(r.tail.countsFrom(d))
	}
	if opts.Bounded && !opts.Until.IsZero() && opts.Until.UnixMilli() <= r.tail.header.StartMillis {
		return RunResult{}, fmt.Errorf("running until %s: the deployment starts at %s", opts.Until.UTC().Format(time.RFC3339), time.UnixMilli(r.tail.header.StartMillis).UTC().Format(time.RFC3339))
	}
	err = r.execute(ctx)
	if errors.Is(err, klog.ErrUnknownTopic) {
		err = fmt.Errorf("%w: was a topic of this deployment deleted? What it held is needed: restore it; the next start says which one it is", err)
	}
	return r.result(), err
}

func (o RunOptions) withDefaults() RunOptions {
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	def(&o.StallLimit, defaultStallLimit)
	return o
}

// run is everything that one Run has open.
type run struct {
	dep      *Deployment
	id       string
	tail     *tail
	reader   *reader
	ledger   *ledgerStore
	releaser *releaser
	settler  *settler
	log      *slog.Logger

	mu         sync.Mutex
	first      error // of any stage, with its type
	superseded bool  // a stage failed because another run had taken over
}

// begin opens control and announces the run there, before anything is checked: of
// two runs the one that was announced last is the newer one, however long the
// checks of either take. What is wrong with topics is best explained by HEADER,
// if the configuration names others than it does; a STOP is told along with it,
// it may be why.
func begin(d *Deployment, ctx context.Context, client *klog.Client, o CheckOptions) (*tail, error) {
	began := time.Now()
	t, failed := openTail(ctx, client, d, o.Logger)
	if failed != nil && time.Since(began) > lookAgain {
		return nil, failed // the broker was waited for; topics cannot explain it
	}
	var stop *schemas.Stop
	if failed == nil {
		if err := promiseKept(d, ctx, t); err != nil {
			return nil, err
		}
		if err := agrees(d, t.header); err != nil {
			return nil, err
		}
		t.look(func(v *view) { stop = v.stop })
	}
	if failed == nil && stop == nil { // a supervisor may start a stopped deployment for ever
		if err := t.announce(ctx); err != nil {
			return nil, err
		}
	}
	err := checkTopics(d, ctx, client, o)
	switch {
	case err != nil && !errors.Is(err, ErrTopicSettings):
		return nil, err
	case stop != nil:
		return nil, errors.Join(stopped(stop), err)
	case err != nil:
		return nil, err // also where control could not be opened: what was found says why
	}
	return t, failed
}

func newRun(ctx context.Context, d *Deployment, client *klog.Client, t *tail, opts RunOptions) (*run, error) {
	if err := intact(d, ctx, client, t); err != nil {
		return nil, err
	}
	t.at = opts.Hooks.At
	r := &run{dep: d, tail: t, log: opts.Logger, ledger: newLedgerStore(client, t, d), releaser: newReleaser(client, t, d)}
	var err error
	if r.reader, err = newReader(ctx, d, client, t, opts); err != nil {
		return nil, err
	}
	r.releaser.lost = r.reader.lost.Store
	r.id = hex.EncodeToString(t.runID[:])
	control, err := newControlWriter(ctx, t)
	if err != nil {
		r.reader.close()
		return nil, err
	}
	r.settler = &settler{dep: d, turns: r.releaser.turns, tail: t, control: control, notify: opts.OnSettled, done: map[int64]uint64{}}
	return r, nil
}

func newReader(ctx context.Context, d *Deployment, client *klog.Client, t *tail, opts RunOptions) (*reader, error) {
	decoder, err := newDecoder(d, ctx, opts.Logger)
	if err != nil {
		return nil, fmt.Errorf("preparing to decode events: %w", err)
	}
	r := &reader{
		dep: d, client: client, tail: t, run: t.run, opts: opts, log: opts.Logger,
		hasher: schemas.NewHasher(d.Config.Keys.UserHash),
		ends:   map[int32]int64{}, users: map[string]*knownUser{},
		fates: fates{decoder: decoder, turns: turnsFor(d, t.header), clock: clockOf(d), past: pastClocks(t.header, clockOf(d))},
	}
	if !opts.Bounded && !opts.Until.IsZero() {
		r.owed = r.fates.turns.by(opts.Until.UnixMilli())
	}
	r.epoch.Store(-1)
	r.lost.Store(-1)
	if r.control, err = newControlWriter(ctx, t); err != nil {
		return nil, err
	}
	if r.dead, err = newDeadLetters(ctx, client, d, opts.Logger); err != nil {
		r.close()
		return nil, err
	}
	r.fetcher = client.NewFetcher()
	return r, nil
}

func clockOf(d *Deployment) clock {
	t := &d.Config.Time
	return clock{
		trustProducer: t.Trust == TrustProducer, noFuture: t.NoFuture,
		lateness: t.Lateness.Milliseconds(), skew: t.Skew.Milliseconds(), slack: t.Slack.Milliseconds(),
	}
}

// execute runs the Beam pipeline on the local runner.
func (r *run) execute(ctx context.Context) error {
	rules, err := rulesOf(r.dep, r.tail.header)
	if err != nil {
		return err
	}
	engine, err := spend.NewEngine(spend.Options{
		Rules: rules, Ledger: r.ledger, Settlements: r.tail,
		Pairs: r.releaser.turns.pairs, Windows: r.releaser.turns, Forget: r.reader.opts.Hooks.Forget,
		Lost: r.reader.lost.Store,
	})
	if err != nil {
		return err
	}
	var source transforms.Source = r.reader
	if restore := r.reader.opts.Hooks.Restore; restore != nil {
		source = &restoring{source: r.reader, restore: restore}
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

// fail keeps the first error of any stage and, for one that must not be
// restarted over, writes a STOP that every later start refuses. Before it believes
// any error it reads control again: what looks like lost records to a run that
// was taken over is its successor's work.
func (r *run) fail(ctx context.Context) func(error) {
	return func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.first != nil || ctx.Err() != nil {
			return
		}
		r.first = err
		over, epoch, werr := r.tail.past(ctx)
		if werr == nil && over {
			r.superseded = true
			return
		}
		var stop *spend.StopError
		if !errors.As(err, &stop) {
			return
		}
		var control *controlWriter
		if werr == nil {
			control, werr = newControlWriter(ctx, r.tail)
		}
		if werr == nil {
			defer control.close()
			_, werr = control.append(ctx, &schemas.Stop{Epoch: epoch, Turn: stop.Turn, Reason: stop.Error()})
		}
		if werr != nil {
			r.first = fmt.Errorf("%w (and writing the STOP failed: %w)", err, werr)
		}
	}
}

func (r *run) result() RunResult {
	out := RunResult{Drained: r.reader.drained, Superseded: r.reader.superseded || r.superseded}
	r.tail.look(func(v *view) { out.Settled = v.settled })
	if r.reader.owed > out.Settled {
		out.OpenTurns = r.reader.owed - out.Settled
	}
	return out
}

func (r *run) close() {
	r.reader.close()
	r.ledger.close()
	r.releaser.close()
	r.settler.control.close()
}
