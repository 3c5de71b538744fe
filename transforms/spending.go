package transforms

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/transforms/hook"
)

func init() {
	beam.RegisterDoFn(&spendFn{})
}

// Spend hands every shard's turn to the Spender that h opens, which keeps the shard's
// accounts in a ledger: spend.Engine.
//
// In: what Pack gives, KV<int, []byte> by shard, in the global window: in it one
// OPEN and the contributions of the turn (schemas.EncodeOpen and
// EncodeContributions). A group without an OPEN produces nothing. Out:
// KV<int, []byte> by release shard: one partial count (schemas.Partial) of every
// shard for every release shard, with the time of its turn, once the Spender
// calls it durable.
func Spend(s beam.Scope, h hook.Hook[Spender], envelopes beam.PCollection) beam.PCollection {
	return spendIn(s, h, Layout{}, envelopes)
}

func spendIn(s beam.Scope, h hook.Hook[Spender], l Layout, envelopes beam.PCollection) beam.PCollection {
	return beam.ParDo(s.Scope("spend"), &spendFn{stage: stage[Spender]{Hook: hook.NewField(h)}, Layout: l}, envelopes)
}

// spendFn hands a shard's envelope to the Spender. It starts the writes at once and
// waits for them when the bundle ends, so that the shards of a turn share one wait.
type spendFn struct {
	stage[Spender]
	Layout  Layout
	pending waits
}

// StartBundle forgets what a failed bundle left.
func (f *spendFn) StartBundle(_ func(beam.EventTime, int, []byte)) { f.pending.reset() }

// ProcessElement decides one shard's turn, or that of all shards of a strand, and starts the ledger
// writes.
func (f *spendFn) ProcessElement(ctx context.Context, at beam.EventTime, strand int, packed []byte, _ func(beam.EventTime, int, []byte)) error {
	return f.fail(f.Layout.each(strand, packed, func(shard int, blobs [][]byte) error {
		pending, err := f.opened.Spend(ctx, shard, blobs)
		if err != nil {
			return fmt.Errorf("spending in shard %d: %w", shard, err)
		}
		f.pending.add(at, pending)
		return nil
	}))
}

// FinishBundle emits the partial counts of every turn whose delta is durable.
func (f *spendFn) FinishBundle(ctx context.Context, emit func(beam.EventTime, int, []byte)) error {
	return f.fail(f.pending.wait(ctx, f.Layout, emit))
}
