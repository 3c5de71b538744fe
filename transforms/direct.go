package transforms

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// parallelism is the number of shards of a stage that are processed at the same time. It exceeds
// the number of cores of most machines, because a shard waits for brokers as long as it computes.
const parallelism = 16

// ErrUnsupported is returned for a pipeline that Build did not create.
var ErrUnsupported = errors.New("the direct engine runs only a deployment's pipeline: run others on a Beam runner")

// Direct runs a pipeline of [Build] in this process, until all of its readers are done or ctx is
// cancelled. It takes the DoFns of the stages from Beam's graph, calls their Setup and Teardown,
// and passes grouped elements to the stages that they open. It does not encode, retry or split
// anything: after an error, the next run continues.
//
//   - Ticks are processed one at a time, in order: all shards in SPEND, in RELEASE and in SETTLE.
//     The shards of a stage wait for their writes together. Meanwhile each reader makes at most one
//     more step with output.
//   - When the last reader ends, everything read still passes through all stages.
//   - The first error ends the run and keeps its type; the Runtime's Fail receives it. A panic in a
//     stage's goroutine becomes such an error, which lists the calls without their arguments.
//
// When Direct returns, its goroutines have ended. Errors: ErrUnsupported, a stage's, or ctx's.
func Direct(ctx context.Context, p *beam.Pipeline) (err error) {
	d, err := directOf(p)
	if err != nil {
		return err
	}
	for _, fn := range []interface {
		Setup(context.Context) error
		Teardown() error
	}{d.read, d.spend, d.release, d.settle} {
		if err := fn.Setup(ctx); err != nil {
			return fmt.Errorf("opening a stage: %w", err)
		}
		defer func() { err = errors.Join(err, fn.Teardown()) }()
	}
	steps := make(chan delivery)
	g, ctx := errgroup.WithContext(ctx)
	for group := range d.read.Layout.readers() {
		g.Go(func() error { return d.drive(ctx, group, steps) })
	}
	g.Go(func() error { return d.run(ctx, steps) })
	return g.Wait()
}

// direct holds the DoFns of the stages.
type direct struct {
	read    *readFn
	spend   *spendFn
	release *releaseFn
	settle  *settleFn
}

// directOf returns the stages of a pipeline, from the pipeline's graph.
func directOf(p *beam.Pipeline) (*direct, error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, fmt.Errorf("compiling the pipeline: %w", err)
	}
	d := &direct{}
	for _, e := range edges {
		if e.DoFn == nil {
			continue // Direct itself connects the stages
		}
		expected := true
		switch fn := e.DoFn.Recv.(type) {
		case *groupsFn, *packFn:
		case *readFn:
			d.read, expected = fn, d.read == nil
		case *spendFn:
			d.spend, expected = fn, d.spend == nil
		case *releaseFn:
			d.release, expected = fn, d.release == nil
		case *settleFn:
			d.settle, expected = fn, d.settle == nil
		default:
			expected = false
		}
		if !expected {
			return nil, fmt.Errorf("compiling %s of %v: %w", e.Name(), e.Scope(), ErrUnsupported)
		}
	}
	if d.read == nil || d.spend == nil || d.release == nil || d.settle == nil {
		return nil, fmt.Errorf("compiling the pipeline: a stage is missing: %w", ErrUnsupported)
	}
	return d, nil
}

// delivery is the output of a step: elements of one tick, and the first tick that may get more.
type delivery struct {
	group    int
	elements []Element
	tick     int64
	next     int64 // math.MaxInt64: the reader is done
}

// drive calls the reader of a group until the reader is done.
func (d *direct) drive(ctx context.Context, group int, steps chan<- delivery) error {
	for restriction := begin(group); !restriction.Done; {
		var step Step
		err := guarded(func() (err error) {
			step, err = d.read.opened.Step(ctx, restriction)
			return err
		})
		out := delivery{group, step.Elements, step.tick(restriction), step.Next.Tick}
		if step.Next.Done {
			out.next = math.MaxInt64
		}
		if err == nil && (out.tick < restriction.Tick || out.next < restriction.Tick) {
			err = fmt.Errorf("a step went back to a tick before %d", restriction.Tick)
		}
		if err != nil {
			return d.read.fail(fmt.Errorf("reading events: %w", err))
		}
		if len(out.elements) > 0 || out.next > restriction.Tick {
			select {
			case steps <- out:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		restriction = step.Next
		if err := pause(ctx, step.Delay); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	if d > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	return context.Cause(ctx)
}

// run passes each tick through the stages after all readers have passed that tick.
func (d *direct) run(ctx context.Context, steps <-chan delivery) error {
	waiting := map[int64]byShard{}
	next := make([]int64, len(d.read.Layout.readers()))
	for slices.Min(next) < math.MaxInt64 {
		select {
		case s := <-steps:
			next[s.group] = s.next
			if waiting[s.tick] == nil {
				waiting[s.tick] = byShard{}
			}
			for _, e := range s.elements {
				waiting[s.tick].add(e.Shard, e.Data)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for _, tick := range slices.Sorted(maps.Keys(waiting)) {
			if tick >= slices.Min(next) {
				break
			}
			if err := d.turn(ctx, waiting[tick]); err != nil {
				return err
			}
			delete(waiting, tick)
		}
	}
	return nil
}

func (d *direct) turn(ctx context.Context, contributions byShard) error {
	partials, err := contributions.each(ctx, d.spend.opened.Spend)
	if err != nil {
		return d.spend.fail(fmt.Errorf("spending %w", err))
	}
	acks, err := partials.each(ctx, d.release.opened.Release)
	if err != nil {
		return d.release.fail(fmt.Errorf("releasing %w", err))
	}
	for _, blobs := range acks { // all under the same key
		if err := guarded(func() error { return d.settle.opened.Settle(ctx, blobs) }); err != nil {
			return d.settle.fail(fmt.Errorf("settling: %w", err))
		}
	}
	return nil
}

// byShard holds the blobs of one tick by shard.
type byShard map[int][][]byte

func (b byShard) add(shard int, blob []byte) { b[shard] = append(b[shard], blob) }

// each starts the work of a stage on all shards. It waits for the work and returns the results.
func (b byShard) each(ctx context.Context, start func(context.Context, int, [][]byte) (spend.Pending, error)) (byShard,
	error) {
	shards := slices.Sorted(maps.Keys(b))
	blobs := make([][]spend.Blob, len(shards))
	var claimed atomic.Int64
	work := func() error { // takes one shard after another until none is left
		pending := make([]spend.Pending, len(shards))
		for n := int(claimed.Add(1)) - 1; n < len(shards); n = int(claimed.Add(1)) - 1 {
			err := context.Cause(ctx)
			if err == nil {
				pending[n], err = start(ctx, shards[n], b[shards[n]])
			}
			if err != nil {
				return fmt.Errorf("in shard %d: %w", shards[n], err)
			}
		}
		for n, p := range pending {
			if p == nil {
				continue
			}
			var err error
			if blobs[n], err = p.Wait(ctx); err != nil {
				return fmt.Errorf("in shard %d: %w", shards[n], err)
			}
		}
		return nil
	}
	var g *errgroup.Group
	g, ctx = errgroup.WithContext(ctx)
	for range min(len(shards), parallelism) {
		g.Go(func() error { return guarded(work) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := byShard{}
	for _, all := range blobs {
		for _, blob := range all {
			out.add(blob.Shard, blob.Data)
		}
	}
	return out, nil
}

// guarded calls f and converts a panic to an error, which wraps the panic's value if possible.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			cause, ok := p.(error)
			if !ok {
				cause = fmt.Errorf("%v", p)
			}
			err = fmt.Errorf("panic: %w\n%s", cause, callers())
		}
	}()
	return f()
}

// callers lists the calls that led to a panic, one per line, the innermost first. Unlike
// debug.Stack, it omits the arguments, which include account ids and counts without noise.
func callers() string {
	const maxDepth, skipped = 64, 3 // runtime.Callers, this function and the deferred one
	pcs := make([]uintptr, maxDepth)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(skipped, pcs)])
	var text strings.Builder
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		fmt.Fprintf(&text, "\t%s (%s:%d)\n", f.Function, f.File, f.Line)
	}
	return strings.TrimSuffix(text.String(), "\n")
}
