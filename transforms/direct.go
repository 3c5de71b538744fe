package transforms

import (
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// parallelism is how many shards of a stage are under way at the same time. It is more than most
// machines have cores: a shard waits for brokers as much as it computes.
const parallelism = 16

// Direct runs the stages of a run in this process, without Beam, until all of its readers are done
// or ctx is cancelled. It does what an engine of Beam makes of [Build]'s pipeline, and encodes,
// retries and splits nothing: the next run continues after an error.
//
//   - One tick is under way at a time, in their order: SPEND has all shards of it, then RELEASE,
//     then SETTLE. The shards of a stage share the wait for their writes. Meanwhile each reader
//     makes at most one more step that yields something.
//   - The end of the last reader is a drain: whatever has been read goes through all stages.
//   - The first error ends the run, and keeps its type; rt.Fail is told. So does a panic in the
//     goroutine of a stage: its error names the calls, without their arguments.
//
// When Direct returns, no goroutine of it is left. rt's functions are called once each; its Close
// is left to the caller.
func Direct(ctx context.Context, rt *Runtime, readers int) error {
	d := &direct{fail: rt.Fail}
	if d.fail == nil {
		d.fail = func(err error) error { return err }
	}
	var err error
	if d.source, err = rt.Source(ctx); err != nil {
		return fmt.Errorf("opening READ: %w", err)
	}
	if d.spender, err = rt.Spender(ctx); err != nil {
		return fmt.Errorf("opening SPEND: %w", err)
	}
	if d.releaser, err = rt.Releaser(ctx); err != nil {
		return fmt.Errorf("opening RELEASE: %w", err)
	}
	if d.settler, err = rt.Settler(ctx); err != nil {
		return fmt.Errorf("opening SETTLE: %w", err)
	}
	steps := make(chan delivery)
	g, ctx := errgroup.WithContext(ctx)
	for group := range readers {
		g.Go(func() error { return d.read(ctx, group, steps) })
	}
	g.Go(func() error { return d.run(ctx, readers, steps) })
	return g.Wait()
}

type direct struct {
	source   Source
	spender  Spender
	releaser Releaser
	settler  Settler
	fail     func(error) error
}

// delivery is what a step has yielded: elements of one tick, and the first tick of which the reader
// may yield more.
type delivery struct {
	group    int
	elements []Element
	tick     int64
	next     int64 // math.MaxInt64: the reader is done
}

// read drives the reader of a group to its end.
func (d *direct) read(ctx context.Context, group int, steps chan<- delivery) error {
	for at := begin(group); !at.Done; {
		var step Step
		err := guarded(func() (err error) {
			step, err = d.source.Step(ctx, at)
			return err
		})
		out := delivery{group, step.Elements, step.tick(at), step.Next.Tick}
		if step.Next.Done {
			out.next = math.MaxInt64
		}
		if err == nil && (out.tick < at.Tick || out.next < at.Tick) {
			err = fmt.Errorf("a step went back from tick %d", at.Tick)
		}
		if err != nil {
			return d.fail(fmt.Errorf("reading events: %w", err))
		}
		if len(out.elements) > 0 || out.next > at.Tick {
			select {
			case steps <- out:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		at = step.Next
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

// run takes each tick through the stages when all readers have passed it.
func (d *direct) run(ctx context.Context, readers int, steps <-chan delivery) error {
	waiting := map[int64]byShard{}
	next := make([]int64, readers)
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
				return d.fail(err)
			}
			delete(waiting, tick)
		}
	}
	return nil
}

func (d *direct) turn(ctx context.Context, contributions byShard) error {
	partials, err := contributions.each(ctx, d.spender.Spend)
	if err != nil {
		return fmt.Errorf("spending %w", err)
	}
	acks, err := partials.each(ctx, d.releaser.Release)
	if err != nil {
		return fmt.Errorf("releasing %w", err)
	}
	for _, all := range acks { // under one key
		if err := guarded(func() error { return d.settler.Settle(ctx, all) }); err != nil {
			return fmt.Errorf("settling: %w", err)
		}
	}
	return nil
}

// byShard holds the blobs of a tick.
type byShard map[int][][]byte

func (b byShard) add(shard int, blob []byte) { b[shard] = append(b[shard], blob) }

// each starts a stage's work on all shards, waits for it and returns what comes of it.
func (b byShard) each(ctx context.Context, start func(context.Context, int, [][]byte) (spend.Pending, error)) (byShard, error) {
	shards := slices.Sorted(maps.Keys(b))
	blobs := make([][]spend.Blob, len(shards))
	var taken atomic.Int64
	work := func() error { // on the next shard, until none is left
		pending := make([]spend.Pending, len(shards))
		for n := int(taken.Add(1)) - 1; n < len(shards); n = int(taken.Add(1)) - 1 {
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
		for _, one := range all {
			out.add(one.Shard, one.Data)
		}
	}
	return out, nil
}

// guarded makes an error of a panic in f; an error that was its value keeps its type.
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

// callers names the calls that led to a panic, from recover on, one a line. Unlike debug.Stack it
// has none of their arguments: among them are account ids, and counts without noise.
func callers() string {
	const deepest, own = 64, 3 // runtime.Callers, this function and the deferred one
	pcs := make([]uintptr, deepest)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(own, pcs)])
	var text strings.Builder
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		fmt.Fprintf(&text, "\t%s (%s:%d)\n", f.Function, f.File, f.Line)
	}
	return strings.TrimSuffix(text.String(), "\n")
}
