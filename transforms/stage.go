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

// stage is embedded in the DoFns of all stages. It holds a hook and the value that the hook opened.
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

// FailureListener may be implemented by the value that a stage's hook opens. Fail receives every
// error of the stage with its type intact; runners keep only the text of the error that Fail
// returns.
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

// shardsFn is embedded in the DoFns of SPEND and RELEASE. It starts the writes of all shards at
// once and waits for them when the bundle ends, so that the shards of a turn wait together.
type shardsFn[T any] struct {
	stage[T]
	Layout  Layout
	pending waits
}

// StartBundle forgets the pending work of a failed bundle.
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

// each calls do with the blobs of every shard in a pack, in the order of the shards.
func (l Layout) each(strand int, packed []byte, do func(shard int, blobs [][]byte) error) error {
	blobs, err := Unpack(packed)
	if err != nil {
		return err
	}
	if len(l.Strands) == 0 {
		return do(strand, blobs)
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
		if err := do(shard, byShard[shard]); err != nil {
			return err
		}
	}
	return nil
}

// waits lists the pending work of a bundle, with the event times of its results.
type waits struct {
	times   []beam.EventTime
	pending []spend.Pending
}

func (w *waits) reset() { w.times, w.pending = w.times[:0], w.pending[:0] }

func (w *waits) add(eventTime beam.EventTime, p spend.Pending) {
	if p != nil {
		w.times, w.pending = append(w.times, eventTime), append(w.pending, p)
	}
}

// wait emits the results of all work, under the strands of their shards.
func (w *waits) wait(ctx context.Context, l Layout, emit func(beam.EventTime, int, []byte)) error {
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
