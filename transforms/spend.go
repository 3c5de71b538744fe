package transforms

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/transforms/hook"
)

func init() { beam.RegisterDoFn(&spendFn{}) }

// Spend passes the turn of every shard to the Spender that h opens, such as spend.Engine, which
// keeps the shard's accounts in a ledger.
//
// In: Pack's output, KV<int, []byte> by shard, in the global window: one OPEN and the contributions
// of the turn (schemas.EncodeOpen and EncodeContributions). A group without an OPEN has no output.
// Out: KV<int, []byte> by release shard: one schemas.Partial from every shard for every release
// shard, with the time of its turn. Spend emits it when the decisions of the shard are durable.
func Spend(s beam.Scope, h hook.Hook[Spender], envelopes beam.PCollection) beam.PCollection {
	return spendIn(s, h, Layout{}, envelopes)
}

func spendIn(s beam.Scope, h hook.Hook[Spender], l Layout, envelopes beam.PCollection) beam.PCollection {
	fn := &spendFn{shardsFn[Spender]{stage: stage[Spender]{Hook: hook.NewField(h)}, Layout: l}}
	return beam.ParDo(s.Scope("spend"), fn, envelopes)
}

// spendFn passes the envelope of one shard to the Spender.
type spendFn struct{ shardsFn[Spender] }

// ProcessElement decides the turn of one shard, or of all shards of a strand.
func (f *spendFn) ProcessElement(
	ctx context.Context, eventTime beam.EventTime, strand int, packed []byte, _ func(beam.EventTime, int, []byte),
) error {
	return f.start(ctx, eventTime, strand, packed, "spending", f.opened.Spend)
}
