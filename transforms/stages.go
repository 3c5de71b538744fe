package transforms

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/tollgate-dp/tollgate/transforms/spend"
)

func init() {
	register.DoFn5x1[context.Context, beam.EventTime, int, []byte, func(beam.EventTime, int, []byte), error](&releaseFn{})
	register.DoFn3x1[context.Context, int, []byte, error](&settleFn{})
}

// releaseFn hands the partial counts of one release shard to the Releaser. It
// starts the writes at once and waits for them when the bundle ends, so that
// the shards of a turn share one wait.
type releaseFn struct {
	bound
	pending waits
}

// StartBundle forgets what a failed bundle left.
func (f *releaseFn) StartBundle(_ func(beam.EventTime, int, []byte)) { f.pending.reset() }

// ProcessElement starts a release shard's work.
func (f *releaseFn) ProcessElement(ctx context.Context, at beam.EventTime, shard int, packed []byte, _ func(beam.EventTime, int, []byte)) error {
	blobs, err := unpack(packed)
	if err != nil {
		return f.fail(err)
	}
	p, err := f.rt.Releaser.Release(ctx, shard, blobs)
	if err != nil {
		return f.fail(fmt.Errorf("releasing in shard %d: %w", shard, err))
	}
	f.pending.add(at, p)
	return nil
}

// FinishBundle emits the acknowledgements of what is durable now.
func (f *releaseFn) FinishBundle(ctx context.Context, emit func(beam.EventTime, int, []byte)) error {
	return f.fail(f.pending.wait(ctx, emit))
}

// settleFn settles a turn.
type settleFn struct {
	bound
}

// ProcessElement hands a tick's acknowledgements to the Settler.
func (f *settleFn) ProcessElement(ctx context.Context, _ int, packed []byte) error {
	blobs, err := unpack(packed)
	if err != nil {
		return f.fail(err)
	}
	if err := f.rt.Settler.Settle(ctx, blobs); err != nil {
		return f.fail(fmt.Errorf("settling: %w", err))
	}
	return nil
}

// waits are the pieces of work that a bundle has under way, with the event
// times that their results must carry.
type waits struct {
	at      []beam.EventTime
	pending []spend.Pending
}

func (w *waits) reset() { w.at, w.pending = w.at[:0], w.pending[:0] }

func (w *waits) add(at beam.EventTime, p spend.Pending) {
	if p != nil {
		w.at, w.pending = append(w.at, at), append(w.pending, p)
	}
}

func (w *waits) wait(ctx context.Context, emit func(beam.EventTime, int, []byte)) error {
	defer w.reset()
	for i, p := range w.pending {
		blobs, err := p.Wait(ctx)
		if err != nil {
			return err
		}
		for _, b := range blobs {
			emit(w.at[i], b.Shard, b.Data)
		}
	}
	return nil
}
