package spend

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
)

// This file decides which records a shard writes to the ledger, and when: a delta for every turn,
// before any of its counts leaves the shard, unless the ledger already contains it; and a snapshot
// before some deltas. A change of the deployment stores its own snapshots (checkpoint.go).

// write starts to append the records of a turn. No count of the turn may leave the shard before
// s.wait has returned without an error.
func (s *shard) write(ctx context.Context, records []schemas.LedgerRecord) {
	s.wait = nil
	if len(records) > 0 {
		s.wait = s.writer.Append(ctx, records)
	}
}

// deltaRecords returns the records of a turn's delta, or none if the ledger already has them.
func (e *Engine) deltaRecords(s *shard, d *schemas.Delta) ([]schemas.LedgerRecord, error) {
	if _, known := s.found[d.Turn]; known {
		return nil, nil
	}
	records, err := schemas.EncodeDelta(*d, e.opts.Rules.LedgerSlots, e.maxRecord)
	if err != nil {
		return nil, fmt.Errorf("encoding the delta of turn %d: %w", d.Turn, err)
	}
	return records, nil
}

// snapshotRecords returns the records of a snapshot as of the turn before the open one, if one is
// due. It does not use the slot of the newest snapshot. The records precede the delta in one
// append.
//
// A delta's slot is reused after N = LedgerSlots turns: the delta of turn W overwrites that of W−N.
// However much of the append is written, a restore finds no gap iff a snapshot as of some S ≥ W−N
// was complete before. Proof that there is one: let S be the turn of the newest snapshot once turn
// W−1 is written. If S = W−2, because that snapshot was written with W−1 or existed already, then
// W−S = 2. Otherwise no snapshot was due with W−1: W−1−S ≤ N/2, so that W−S ≤ N/2 + 1 < N. Before
// the first snapshot, S is 0, the empty snapshot. ∎
//
// To spread the load, shards write snapshots at different turns.
func (e *Engine) snapshotRecords(n int, s *shard, open *schemas.Open) ([]schemas.LedgerRecord, error) {
	period := e.opts.Rules.LedgerSlots / 2
	turn := open.Turn - 1
	if turn == s.snapshot || open.Turn-s.snapshot <= period && turn%period != uint64(n)%period {
		return nil, nil
	}
	records, err := schemas.EncodeSnapshot(s.accounts.snapshot(turn, open.Epoch), 1-s.slot, e.maxRecord)
	if err != nil {
		return nil, fmt.Errorf("encoding the snapshot of turn %d: %w", turn, err)
	}
	s.snapshot, s.slot = turn, 1-s.slot
	return records, nil
}
