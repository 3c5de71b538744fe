package transforms

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/hook"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// stage is embedded in the DoFns of all stages. It holds a hook and the value that it has opened.
type stage[T any] struct {
	Hook hook.Field[T]

	opened T
}

// Setup opens the hook.
func (s *stage[T]) Setup(ctx context.Context) error {
	var err error
	s.opened, err = s.Hook.Open(ctx)
	return err
}

// Teardown closes the hook.
func (s *stage[T]) Teardown() error { return s.Hook.Close() }

// FailureListener is an optional interface of the value that a stage's hook opens. Fail receives
// every error of the stage with its type intact. Runners keep only the text of its result.
type FailureListener interface {
	Fail(err error) error
}

func (s *stage[T]) fail(err error) error {
	if err != nil {
		if l, ok := any(s.opened).(FailureListener); ok {
			return l.Fail(err)
		}
	}
	return err
}

// shardsFn is embedded in the DoFns of SPEND and RELEASE. It starts the writes of all shards before
// it waits for any of them at the end of the bundle.
type shardsFn[T any] struct {
	stage[T]
	Layout  Layout
	pending pendingWork
}

// StartBundle drops the pending work of a failed bundle.
func (f *shardsFn[T]) StartBundle(_ func(beam.EventTime, int, []byte)) { f.pending.reset() }

func (f *shardsFn[T]) start(
	ctx context.Context, eventTime beam.EventTime, strand int, packed []byte,
	doing string, work func(context.Context, int, [][]byte) (spend.Pending, error),
) error {
	return f.fail(f.Layout.each(strand, packed, func(shard int, blobs [][]byte) error {
		p, err := work(ctx, shard, blobs)
		if err != nil {
			return fmt.Errorf("%s in shard %d: %w", doing, shard, err)
		}
		f.pending.add(eventTime, p)
		return nil
	}))
}

// FinishBundle waits for the pending work and emits its results. Acknowledgements go to shard 0.
func (f *shardsFn[T]) FinishBundle(ctx context.Context, emit func(beam.EventTime, int, []byte)) error {
	return f.fail(f.pending.wait(ctx, f.Layout, emit))
}

// each calls fn for every shard in a pack, with the shard's blobs, in the order of the shards.
func (l Layout) each(strand int, packed []byte, fn func(shard int, blobs [][]byte) error) error {
	blobs, err := Unpack(packed)
	if err != nil {
		return err
	}
	if len(l.Strands) == 0 {
		return fn(strand, blobs)
	}
	byShard := map[int][][]byte{}
	for _, b := range blobs {
		shard, err := schemas.PeekShard(b)
		if err != nil {
			return fmt.Errorf("finding the shard of a blob: %w", err)
		}
		byShard[shard] = append(byShard[shard], b)
	}
	for _, shard := range slices.Sorted(maps.Keys(byShard)) {
		if err := fn(shard, byShard[shard]); err != nil {
			return err
		}
	}
	return nil
}

// pendingWork lists the pending work of a bundle, with the event times of its results.
type pendingWork struct {
	times   []beam.EventTime
	pending []spend.Pending
}

func (w *pendingWork) reset() { w.times, w.pending = w.times[:0], w.pending[:0] }

func (w *pendingWork) add(eventTime beam.EventTime, p spend.Pending) {
	if p != nil {
		w.times, w.pending = append(w.times, eventTime), append(w.pending, p)
	}
}

// wait waits for all work. It emits the results under the strands of their shards.
func (w *pendingWork) wait(ctx context.Context, l Layout, emit func(beam.EventTime, int, []byte)) error {
	defer w.reset()
	for i, p := range w.pending {
		blobs, err := p.Wait(ctx)
		if err != nil {
			return err
		}
		for _, b := range blobs {
			emit(w.times[i], l.strand(b.Shard), b.Data)
		}
	}
	return nil
}
