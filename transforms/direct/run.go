package direct

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	"golang.org/x/sync/errgroup"
)

// Parallelism is how many instances of a stage take groups at the same time. It is more than
// most machines have cores: an instance waits for brokers as much as it computes.
const Parallelism = 16

// Execute runs a pipeline to its end, or until ctx is cancelled. It is a runner as
// beam.RegisterRunner takes it. Errors: ErrStateWouldBeLost, and ErrUnsupported for what the graph
// tells, before anything has run; ErrUnsupported for an initial restriction that is split into
// several, and for an element outside of all windows; ErrLate; the first error of a DoFn, with its
// type; the cause of ctx.
func Execute(ctx context.Context, p *beam.Pipeline) (beam.PipelineResult, error) {
	plan, err := compile(p)
	if err != nil {
		return nil, err
	}
	r := &run{plan: plan, stages: make([]stage, len(plan.stages))}
	for i := range r.stages {
		r.stages[i] = stage{plan: &plan.stages[i], grouping: newGrouping(plan.stages[i].windows)}
	}
	err = r.run(ctx)
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	if torn := r.teardown(context.WithoutCancel(ctx)); err == nil {
		err = torn
	}
	return result{}, err
}

// result implements beam.PipelineResult. Metrics of DoFns are not kept.
type result struct{}

func (result) Metrics() metrics.Results { return metrics.Results{} }

func (result) JobID() string { return "direct" }

// run is one run of a pipeline.
type run struct {
	plan   *plan
	stages []stage

	mu        sync.Mutex
	instances []*instance // all whose Setup was called
}

// stage is a stage under way: its grouping, and the chains that take its groups.
type stage struct {
	plan     *stagePlan
	grouping grouping
	chains   []*chain
}

// run drives every source in a goroutine, and the stages in one more. Whichever fails stops the
// others. The watermark is the least of all sources'.
func (r *run) run(ctx context.Context) error {
	sources, err := r.sources(ctx)
	if err != nil {
		return err
	}
	steps := make(chan step)
	var reading atomic.Int64
	reading.Store(int64(len(sources)))
	if len(sources) == 0 {
		close(steps)
	}
	read := func(ctx context.Context, n int) error {
		defer func() {
			if reading.Add(-1) == 0 {
				close(steps)
			}
		}()
		return r.read(ctx, n, sources[n], func(s step) error {
			select {
			case steps <- s:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}
	stages := func(ctx context.Context) error {
		watermarks := slices.Repeat([]mtime.Time{mtime.MinTimestamp}, len(sources))
		for s := range steps {
			watermarks[s.source] = s.watermark
			if err := r.deliver(ctx, 0, s.elements, slices.Min(watermarks)); err != nil {
				return err
			}
		}
		return nil
	}
	return runParallel(ctx, 1+len(sources), func(ctx context.Context, i int) error {
		if i == 0 {
			return stages(ctx)
		}
		return read(ctx, i-1)
	})
}

// runParallel calls f with 0 to n−1 at the same time and returns the first error, which cancels the
// others.
func runParallel(ctx context.Context, n int, f func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}

// deliver takes elements to a stage, with the watermark after them, and what comes of them
// through all stages after it.
func (r *run) deliver(ctx context.Context, n int, elements []element, watermark mtime.Time) error {
	if n == len(r.stages) {
		return nil // nothing consumes them
	}
	s := &r.stages[n]
	for i := range elements {
		if err := s.grouping.add(&elements[i]); err != nil {
			return fmt.Errorf("grouping for %s: %w", s.name(), err)
		}
	}
	var out []element // of the window before, which goes on its way first
	for _, w := range s.grouping.due(watermark) {
		if err := r.deliver(ctx, n+1, out, w.MaxTimestamp()); err != nil {
			return err
		}
		var err error
		if out, err = r.process(ctx, s, s.grouping.fire(w)); err != nil {
			return err
		}
	}
	s.grouping.watermark = watermark
	return r.deliver(ctx, n+1, out, watermark)
}

// name is that of the stage's first DoFn.
func (s *stage) name() string {
	for i := range s.plan.operations {
		if op := &s.plan.operations[i]; op.windows == nil {
			return op.edge.Name()
		}
	}
	return "no DoFn"
}

// process hands groups to the stage's instances, each of which takes the next one that is left,
// and returns what they emit.
func (r *run) process(ctx context.Context, s *stage, groups []element) ([]element, error) {
	instances := min(len(groups), Parallelism)
	for len(s.chains) < instances {
		c, err := r.newChain(ctx, s.plan.operations)
		if err != nil {
			return nil, err
		}
		s.chains = append(s.chains, c)
	}
	next := iterate(groups)
	if instances == 1 {
		return s.chains[0].bundle(ctx, next)
	}
	outs := make([][]element, instances)
	err := runParallel(ctx, instances, func(ctx context.Context, i int) (err error) {
		outs[i], err = s.chains[i].bundle(ctx, next)
		return err
	})
	var all []element
	for _, out := range outs {
		all = append(all, out...)
	}
	return all, err
}

// iterate goes through elements; several goroutines may share them out.
func iterate(elements []element) func() (*element, bool) {
	var taken atomic.Int64
	return func() (*element, bool) {
		n := int(taken.Add(1)) - 1
		if n >= len(elements) {
			return nil, false
		}
		return &elements[n], true
	}
}

// chain is one instance of each operation of a stage, or of the source, one after the other.
type chain struct {
	nodes     []node
	instances []*instance
	end       *collector
}

// newChain sets up a chain.
func (r *run) newChain(ctx context.Context, operations []operation) (*chain, error) {
	c := &chain{end: &collector{}}
	next := node(c.end)
	for i := len(operations) - 1; i >= 0; i-- {
		if operations[i].windows != nil {
			next = &windower{operations[i], next}
			c.nodes = append(c.nodes, next)
			continue
		}
		in, err := newInstance(ctx, operations[i], next)
		if in != nil {
			r.keep(in)
		}
		if err != nil {
			return nil, err
		}
		next = in
		c.nodes, c.instances = append(c.nodes, next), append(c.instances, in)
	}
	slices.Reverse(c.nodes)
	slices.Reverse(c.instances)
	c.nodes = append(c.nodes, c.end)
	return c, nil
}

func (r *run) keep(in *instance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.instances = append(r.instances, in)
}

func (r *run) teardown(ctx context.Context) error {
	var errs []error
	for _, in := range r.instances {
		errs = append(errs, in.teardown(ctx))
	}
	return errors.Join(errs...)
}

// bundle processes elements as one bundle and returns what the chain emits.
func (c *chain) bundle(ctx context.Context, next func() (*element, bool)) ([]element, error) {
	return c.around(ctx, func() error {
		for e, more := next(); more; e, more = next() {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if err := c.nodes[0].process(ctx, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// around begins a bundle, processes its elements, and ends it.
func (c *chain) around(ctx context.Context, elements func() error) ([]element, error) {
	for _, n := range slices.Backward(c.nodes) { // what is emitted meanwhile finds the next one begun
		if err := n.startBundle(ctx); err != nil {
			return nil, err
		}
	}
	if err := elements(); err != nil {
		return nil, err
	}
	for _, n := range c.nodes {
		if err := n.finishBundle(ctx); err != nil {
			return nil, err
		}
	}
	out := c.end.out
	c.end.out = nil
	return out, nil
}
