package spend

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
)

// This file decides what a shard writes to the ledger, and when. For every span, before any of its
// counts leaves the shard: the delta of each turn that the ledger does not have yet, and from time
// to time a snapshot before these deltas. A change of the deployment stores snapshots of its own:
// checkpoint.go.

// write starts to append the records of a span. Nothing of the span may leave the shard before
// s.wait has returned without an error.
func (s *shard) write(ctx context.Context, records []schemas.LedgerRecord) {
	s.wait = nil
	if len(records) > 0 {
		s.wait = s.writer.Append(ctx, records)
	}
}

// deltaRecords returns the records of a turn's delta; none if the ledger has them already, because
// the turn is redone.
func (e *Engine) deltaRecords(s *shard, d *schemas.Delta) ([]schemas.LedgerRecord, error) {
	if s.found[d.Turn] != nil {
		return nil, nil
	}
	records, err := schemas.EncodeDelta(*d, e.opts.Rules.LedgerSlots, e.maxRecord)
	if err != nil {
		return nil, fmt.Errorf("encoding the delta of turn %d: %w", d.Turn, err)
	}
	return records, nil
}

// snapshotRecords returns the records of a snapshot as of the turn before the
// open span, if one is due, for the slot that does not have the newest. They
// precede the deltas in one append.
//
// A delta's slot is used again after N = LedgerSlots turns: the deltas of a span
// F … W overwrite those of F−N … W−N. A restore finds no gap, whatever part of
// the append lands, iff a snapshot as of S ≥ W−N was complete before it. Proof
// that there is one. A span has at most K ≤ N/4 turns (Spend refuses more). Let
// F' … W', W' = F−1, be the span before, and S the newest snapshot once it is written. If
// S = F'−1, because it was written with F' or was there already, then W−S ≤ 2K ≤
// N/2. Else no snapshot was due with F': W'−S ≤ N/2, so that W−S ≤ N/2 + K < N. Up to the
// first snapshot, S is 0: the empty one. ∎
//
// So that no turn carries the snapshots of all shards, each shard has turns of its own: shard n
// writes a snapshot if one of its turns is among F−1 … W−1.
func (e *Engine) snapshotRecords(n int, s *shard, open *schemas.Open) ([]schemas.LedgerRecord, error) {
	period := e.opts.Rules.LedgerSlots / 2
	turn := open.First - 1
	late := open.Turn-s.snapshot > period
	sinceOwn := (open.Turn - 1 + period - uint64(n)%period) % period // turns from the shard's own to W−1
	if turn == s.snapshot || (!late && sinceOwn > open.Turn-open.First) {
		return nil, nil
	}
	records, err := schemas.EncodeSnapshot(s.accounts.snapshot(turn, open.Epoch), 1-s.slot, e.maxRecord)
	if err != nil {
		return nil, fmt.Errorf("encoding the snapshot of turn %d: %w", turn, err)
	}
	s.snapshot, s.slot = turn, 1-s.slot
	return records, nil
}
