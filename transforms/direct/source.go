package direct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
)

// step is what a source has emitted, and the watermark after it.
type step struct {
	source    int
	elements  []element
	watermark mtime.Time
}

// sources returns the elements of which each has a source of its own.
func (r *run) sources(ctx context.Context) ([]element, error) {
	start := []element{{value: r.plan.impulse, at: mtime.MinTimestamp, window: global}}
	if len(r.plan.spread) == 0 {
		return start, nil
	}
	c, err := r.newChain(ctx, r.plan.spread)
	if err != nil {
		return nil, err
	}
	return c.bundle(ctx, iterate(start))
}

// read drives a source to its end. A step that emits nothing and moves no watermark is not
// handed on.
func (r *run) read(ctx context.Context, n int, start element, hand func(step) error) error {
	c, err := r.newChain(ctx, r.plan.source)
	if err != nil {
		return err
	}
	if len(r.plan.source) == 0 || !r.plan.source[0].splittable() {
		out, err := c.bundle(ctx, iterate([]element{start}))
		if err != nil {
			return err
		}
		return hand(step{n, out, mtime.MaxTimestamp})
	}
	return c.drive(ctx, &start, func(s step) error {
		s.source = n
		return hand(s)
	})
}

// splitting is a splittable DoFn at a restriction.
type splitting struct {
	*instance
	element     *element
	restriction any
	estimator   any // the state of its watermark estimator
}

// drive processes the source's one restriction, step by step.
func (c *chain) drive(ctx context.Context, start *element, hand func(step) error) error {
	s := &splitting{instance: c.instances[0], element: start}
	if err := s.begin(ctx); err != nil {
		return err
	}
	last := mtime.MinTimestamp
	for {
		var next sdf.ProcessContinuation
		watermark := last
		out, err := c.around(ctx, func() (err error) {
			next, watermark, err = s.step(ctx, last)
			return err
		})
		if err != nil {
			return err
		}
		if next == nil {
			return hand(step{elements: out, watermark: mtime.MaxTimestamp})
		}
		if len(out) > 0 || watermark > last {
			if err := hand(step{elements: out, watermark: watermark}); err != nil {
				return err
			}
		}
		last = watermark
		if err := pause(ctx, next.ResumeDelay()); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func (s *splitting) sdf() *graph.SplittableDoFn { return (*graph.SplittableDoFn)(s.fn) }

// begin makes the initial restriction, of which there is one.
func (s *splitting) begin(ctx context.Context) error {
	returned, err := s.call(ctx, s.sdf().CreateInitialRestrictionFn(), s.element)
	if err != nil {
		return err
	}
	s.restriction = returned[0]
	if returned, err = s.call(ctx, s.sdf().SplitRestrictionFn(), s.element, s.restriction); err != nil {
		return err
	}
	if n := reflect.ValueOf(returned[0]).Len(); n != 1 { // Beam has checked that it is a slice
		return fmt.Errorf("%s: it splits its restriction into %d before it begins: %w", s.edge.Name(), n, ErrUnsupported)
	}
	if fn := s.sdf().InitialWatermarkEstimatorStateFn(); fn != nil {
		if returned, err = s.call(ctx, fn, s.element, s.restriction); err != nil {
			return err
		}
		s.estimator = returned[0]
	}
	return nil
}

var errUndone = errors.New("it returned before its restriction was done")

// step calls ProcessElement once; a nil continuation is the end.
func (s *splitting) step(ctx context.Context, before mtime.Time) (sdf.ProcessContinuation, mtime.Time, error) {
	returned, err := s.call(ctx, s.sdf().CreateTrackerFn(), nil, s.restriction)
	if err != nil {
		return nil, 0, err
	}
	tracker := returned[0].(sdf.RTracker) // Beam has checked its type
	more := []any{tracker}
	var estimator sdf.WatermarkEstimator
	if fn := s.sdf().CreateWatermarkEstimatorFn(); fn != nil {
		if returned, err = s.call(ctx, fn, nil, s.estimator); err != nil {
			return nil, 0, err
		}
		estimator = returned[0].(sdf.WatermarkEstimator)
		more = append(more, estimator)
	}
	process := s.fn.ProcessElementFn()
	if returned, err = s.call(ctx, process, s.element, more...); err != nil {
		return nil, 0, err
	}
	next := continuation(process, returned)
	if !next.ShouldResume() {
		if !tracker.IsDone() {
			return nil, 0, fmt.Errorf("%s: %w", s.edge.Name(), cmp.Or(tracker.GetError(), errUndone))
		}
		return nil, mtime.MaxTimestamp, nil
	}
	watermark := before
	if estimator != nil {
		watermark = max(before, mtime.FromTime(estimator.CurrentWatermark()))
		if fn := s.sdf().WatermarkEstimatorStateFn(); fn != nil {
			if returned, err = s.call(ctx, fn, nil, estimator); err != nil {
				return nil, 0, err
			}
			s.estimator = returned[0]
		}
	}
	_, rest, err := tracker.TrySplit(0)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: splitting its restriction: %w", s.edge.Name(), err)
	}
	if rest == nil {
		return nil, mtime.MaxTimestamp, nil
	}
	s.restriction = rest
	return next, watermark, nil
}
