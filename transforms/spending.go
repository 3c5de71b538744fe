package transforms

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"

	"github.com/tollgate-dp/tollgate/internal/localrunner"
	"github.com/tollgate-dp/tollgate/transforms/hook"
)

func init() {
	beam.RegisterDoFn(&spendFn{})
}

// Spend hands every shard's turn to the Spender that h opens, and keeps the
// shard's accounts as keyed state.
//
// In: what Pack gives, KV<int, []byte> by shard, in the global window: in it one
// OPEN and the contributions of the turn (schemas.EncodeOpen and
// EncodeContributions). A group without an OPEN produces nothing. Out:
// KV<int, []byte> by release shard: one partial count (schemas.Partial) of every
// shard for every release shard, with the time of its turn, once the Spender
// calls it durable.
//
// The Spender is spend.Engine over a ledger, or InState without one. Shards are
// keys: at most as many run at once as there are.
func Spend(s beam.Scope, h hook.Hook[Spender], envelopes beam.PCollection) beam.PCollection {
	localrunner.Keep()
	return beam.ParDo(s.Scope("spend"), newSpendFn(h), envelopes)
}

// spendFn keeps a shard's accounts as keyed state and hands each envelope to
// the Spender. The state is a base and the deltas since, so that a turn costs
// what its active users cost.
type spendFn struct {
	stage[Spender]
	Meta   state.Value[[]byte]
	Base   state.Value[[]byte]
	Deltas state.Bag[[]byte]

	pending waits
}

func newSpendFn(h hook.Hook[Spender]) *spendFn {
	return &spendFn{
		stage:  stage[Spender]{Hook: hook.NewField(h)},
		Meta:   state.MakeValueState[[]byte]("meta"),
		Base:   state.MakeValueState[[]byte]("base"),
		Deltas: state.MakeBagState[[]byte]("deltas"),
	}
}

// StartBundle forgets what a failed bundle left.
func (f *spendFn) StartBundle(_ func(beam.EventTime, int, []byte)) { f.pending.reset() }

// ProcessElement decides one shard's turn and starts its ledger write.
func (f *spendFn) ProcessElement(ctx context.Context, at beam.EventTime, p state.Provider, shard int, packed []byte, _ func(beam.EventTime, int, []byte)) error {
	blobs, err := Unpack(packed)
	if err != nil {
		return f.fail(err)
	}
	pending, err := f.opened.Spend(ctx, shard, blobs, &keyedState{f: f, p: p})
	if err != nil {
		return f.fail(fmt.Errorf("spending in shard %d: %w", shard, err))
	}
	f.pending.add(at, pending)
	return nil
}

// FinishBundle emits the partial counts of every turn whose delta is durable.
func (f *spendFn) FinishBundle(ctx context.Context, emit func(beam.EventTime, int, []byte)) error {
	return f.fail(f.pending.wait(ctx, emit))
}

// keyedState is the keyed state of the element that is being processed.
type keyedState struct {
	f *spendFn
	p state.Provider
}

// Load implements spend.KeyedState.
func (c *keyedState) Load() (meta, base []byte, deltas [][]byte, err error) {
	if meta, _, err = c.f.Meta.Read(c.p); err != nil {
		return nil, nil, nil, fmt.Errorf("reading the state's description: %w", err)
	}
	if len(meta) == 0 {
		return nil, nil, nil, nil
	}
	if base, _, err = c.f.Base.Read(c.p); err != nil {
		return nil, nil, nil, fmt.Errorf("reading the accounts: %w", err)
	}
	if deltas, _, err = c.f.Deltas.Read(c.p); err != nil {
		return nil, nil, nil, fmt.Errorf("reading the deltas: %w", err)
	}
	return meta, base, deltas, nil
}

// Save implements spend.KeyedState.
func (c *keyedState) Save(meta, base, delta []byte) error {
	if err := c.f.Meta.Write(c.p, meta); err != nil {
		return fmt.Errorf("writing the state's description: %w", err)
	}
	if base != nil {
		if err := c.f.Base.Write(c.p, base); err != nil {
			return fmt.Errorf("writing the accounts: %w", err)
		}
		if err := c.f.Deltas.Clear(c.p); err != nil {
			return fmt.Errorf("clearing the deltas: %w", err)
		}
	}
	if delta != nil {
		if err := c.f.Deltas.Add(c.p, delta); err != nil {
			return fmt.Errorf("adding a delta: %w", err)
		}
	}
	return nil
}
