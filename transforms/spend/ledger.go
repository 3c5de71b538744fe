package spend

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
)

// This file decides which records a shard writes to the ledger, and when. It writes a delta for
// every turn before any count of the turn leaves the shard, unless the ledger already contains the
// delta. Before some deltas, it also writes a snapshot. A change stores its own snapshots
// (checkpoint.go).

// write starts to append the records of a turn to the ledger. No count of the turn may leave the
// shard before s.wait has returned without an error.
func (s *shard) write(ctx context.Context, records []schemas.LedgerRecord) {
	s.wait = nil
	if len(records) > 0 {
		s.wait = s.writer.Append(ctx, records)
	}
}

// deltaRecords returns the records of a turn's delta, or none if the ledger already contains them.
func (e *Engine) deltaRecords(s *shard, d *schemas.Delta) ([]schemas.LedgerRecord, error) {
	if _, known := s.laterDeltas[d.Turn]; known {
		return nil, nil
	}
	records, err := schemas.EncodeDelta(*d, e.opts.Rules.LedgerSlots, e.maxRecord)
	if err != nil {
		return nil, fmt.Errorf("encoding the delta of turn %d: %w", d.Turn, err)
	}
	return records, nil
}

// snapshotRecords returns the records of a snapshot as of the turn before the open turn, or none if
// no snapshot is due. It does not overwrite the newest one, and precedes the delta in the same
// append.
//
// The slot of a delta is reused after N = LedgerSlots turns: the delta of turn W overwrites the
// delta of turn W−N. Even if the append is only partly written, a restore finds no gap if and only
// if a snapshot as of some turn S ≥ W−N was complete before. Proof that there is such a snapshot:
// let S be the turn of the newest snapshot after turn W−1 has been written. If that snapshot was
// written with turn W−1, or existed already, then S = W−2 and W−S = 2. Otherwise no snapshot was
// due with turn W−1. Then W−1−S ≤ N/2, and therefore W−S ≤ N/2 + 1 < N. Before the first snapshot,
// S is 0, the empty snapshot. ∎
//
// To spread the load, different shards write snapshots at different turns.
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
