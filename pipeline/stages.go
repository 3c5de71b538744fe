package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/hooks/restored"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/ledgerlog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/publishing"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// stages holds the open stages of a run in one process: the process of Run, or a worker.
type stages struct {
	ctx     context.Context //nolint:containedctx // stages outlive the calls that open them
	dep     *deployment.Deployment
	client  *kafkalog.Client
	control *controllog.Log
	turns   *calendar.Turns
	terms   *terms
	log     *slog.Logger
	monitor *watch.Watch
	stalls  *watch.Stalls    // receives the progress of group 0
	losses  *watch.Losses    // nil if the topics are disposable
	hooks   crashpoint.Hooks // hooks of tests

	endsContext context.Context    //nolint:containedctx // context in which the ends of turns are written
	cancelEnds  context.CancelFunc // stops writing the ends of turns
	closeOnce   sync.Once
	closeErr    error

	settlerOnce func() (transforms.Settler, error)

	openMu  sync.Mutex
	sources map[int]transforms.Source // by group
	closers []func() error            // functions that close the open stages, in the order of calls

	mu         sync.Mutex
	firstErr   error // first error of any stage, with its type
	superseded bool  // a stage failed because another run superseded this one
}

// newStages prepares stages without opening them. control must belong to the run. Call close later.
func newStages(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, control *controllog.Log,
	t *terms, log *slog.Logger) *stages {
	hooks := crashpoint.From(ctx)
	control.At, control.Clock = hooks.At, hooks.Clock
	s := &stages{
		ctx: ctx, dep: d, client: client, control: control, turns: calendar.New(control.Header,
			d.Config.Privacy.Period),
		terms: t, log: log, hooks: hooks, sources: map[int]transforms.Source{},
	}
	s.endsContext, s.cancelEnds = context.WithCancel(ctx)
	s.settlerOnce = sync.OnceValues(s.openSettler)
	if !t.Disposable {
		s.losses = watch.NewLosses(d, log)
	}
	return s
}

// runtime returns the functions with which an engine opens the stages.
func (s *stages) runtime() *transforms.Runtime {
	return &transforms.Runtime{Source: s.source, Spender: s.spender, Releaser: s.releaser, Settler: s.settler,
		Fail: func(err error) error {
			s.fail(err)
			return err
		}}
}

// source opens READ and SETTLE. An engine may open SETTLE only at its first turn. But SETTLE must
// write the end of the last settled turn if the run that settled the turn died first, so it opens
// first.
func (s *stages) source(ctx context.Context) (transforms.Source, error) {
	if _, err := s.settler(ctx); err != nil {
		return nil, err
	}
	if _, err := s.reader(0); s.terms.Readers == 1 && err != nil { // several readers: group 0 may be elsewhere
		return nil, err
	}
	return readers{s}, nil
}

// readers is a transforms.Source that passes each step to the reader of the step's group.
type readers struct{ *stages }

// Step implements transforms.Source.
func (r readers) Step(ctx context.Context, from transforms.Restriction) (transforms.Step, error) {
	source, err := r.reader(from.Group)
	if err != nil {
		return transforms.Step{}, err
	}
	return source.Step(ctx, from)
}

// reader returns the reader of a group. The first call opens it.
func (s *stages) reader(group int) (transforms.Source, error) {
	s.openMu.Lock()
	defer s.openMu.Unlock()
	if r := s.sources[group]; r != nil {
		return r, nil
	}
	o := reading.Options{Group: group, Groups: s.terms.Readers, Crowded: s.terms.Crowded, Bounded: s.terms.Bounded,
		Until: s.terms.Until, UntilEnd: s.terms.UntilEnd,
		Ends: s.terms.Ends, StallLimit: s.terms.StallLimit, Strict: s.terms.Strict, Logger: s.log, Losses: s.losses}
	if o.Stalls = s.stalls; group > 0 {
		o.Stalls = watch.New(watch.RulesOf(s.dep, s.terms.Bounded), s.log)
		s.monitor.EverySecond(o.Stalls.Check)
	}
	r, err := reading.New(s.ctx, s.dep, s.client, s.control, o)
	if err != nil {
		return nil, err
	}
	s.closers = slices.Insert(s.closers, 0, func() error { r.Close(); return nil })
	s.sources[group] = restored.Source(r, s.hooks.Restore)
	return s.sources[group], nil
}

func (s *stages) spender(context.Context) (transforms.Spender, error) {
	rules, err := changes.Rules(s.dep, s.control.Header)
	if err != nil {
		return nil, err
	}
	ledger := ledgerlog.New(s.client, s.control, s.dep)
	s.closeWithRun(func() error { ledger.Close(); return nil })
	return restored.Spender(func() (transforms.Spender, error) {
		engine, err := spend.NewEngine(spend.Options{
			Rules: rules, Ledger: ledger, Settlements: s.control,
			Ending: s.turns.Ending, Windows: s.turns, Lost: s.reportLost,
		})
		if err != nil {
			return nil, err
		}
		return workObserver{s.stalls, engine.Spend}, nil
	}, s.hooks.Forget)
}

func (s *stages) releaser(context.Context) (transforms.Releaser, error) {
	r, err := publishing.NewReleaser(s.client, s.control, s.dep, s.turns, s.reportLost)
	if c, ok := r.(io.Closer); ok && err == nil {
		s.closeWithRun(func() error { _ = c.Close(); return nil }) // it closes only connections, and returns no error
	}
	if err != nil {
		return nil, err
	}
	return workObserver{s.stalls, r.Release}, nil
}

func (s *stages) settler(context.Context) (transforms.Settler, error) { return s.settlerOnce() }

func (s *stages) openSettler() (transforms.Settler, error) {
	r, err := publishing.NewSettler(s.endsContext, s.client, s.control, s.dep, s.turns)
	if c, ok := r.(io.Closer); ok && err == nil {
		s.closeWithRun(c.Close)
	}
	return r, err
}

func (s *stages) closeWithRun(end func() error) {
	s.openMu.Lock()
	defer s.openMu.Unlock()
	s.closers = append(s.closers, end)
}

// reportLost writes a LOST to control. A stage calls it when another writer has taken over one of
// the stage's partitions in an epoch. READ then starts a new epoch, unless a newer run has
// superseded this run. If the LOST cannot be written, READ starts the epoch after the stall limit.
func (s *stages) reportLost(epoch int64) {
	if err := s.appendControl(s.ctx, &schemas.Lost{Epoch: epoch}); err != nil && s.ctx.Err() == nil {
		s.log.Warn("another writer has taken a partition, and writing that to control failed: the turn waits for the "+
			"stall limit", "error", err)
	}
}

func (s *stages) appendControl(ctx context.Context, body schemas.ControlBody) error {
	w, err := controllog.NewWriter(ctx, s.control)
	if err != nil {
		return err
	}
	defer w.Close()
	_, err = w.Append(ctx, body)
	return err
}

// fail keeps the first error of any stage. For a *spend.StopError, it writes a STOP, so no later
// run starts. It first reads control again: a superseded run sees the writes of its successor,
// which look like lost records.
func (s *stages) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.firstErr != nil || s.ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return // after a failure, the engine cancels the other stages
	}
	s.firstErr = err
	superseded, epoch, werr := s.control.Superseded(s.ctx)
	if werr == nil && superseded {
		s.superseded = true
		return
	}
	var stop *spend.StopError
	if !errors.As(err, &stop) {
		return
	}
	if werr == nil {
		werr = s.appendControl(s.ctx, &schemas.Stop{Epoch: epoch, Turn: stop.Turn, Reason: stop.Error()})
	}
	if werr != nil {
		s.firstErr = fmt.Errorf("%w (and writing the STOP failed: %w)", err, werr)
	}
}

// close closes the open stages, once. Its error means that ends of turns could not be written.
func (s *stages) close() error {
	s.closeOnce.Do(func() {
		s.openMu.Lock()
		defer s.openMu.Unlock()
		for _, end := range s.closers {
			s.closeErr = errors.Join(s.closeErr, end())
		}
		s.cancelEnds()
	})
	return s.closeErr
}
