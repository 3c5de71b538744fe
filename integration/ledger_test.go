package integration

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// ledger is what one ledger partition holds.
type ledger struct {
	deltas    map[uint64]schemas.Delta // the complete ones by turn
	snapshots map[uint64]schemas.Snapshot
}

// readLedger goes through one ledger partition in the order of the log. A turn may be written again
// by a later epoch, but never with another body, and nothing of an earlier epoch may stand after a
// record of a later one.
func readLedger(seal *schemas.LedgerSeal, records []kafkalog.Record) (ledger, error) {
	l := ledger{map[uint64]schemas.Delta{}, map[uint64]schemas.Snapshot{}}
	collected := map[schemas.PartSet]map[uint32]schemas.LedgerPart{}
	newest := int64(-1)
	for _, r := range records {
		value, err := seal.Open(r.Key, r.Value)
		if err != nil {
			return l, fmt.Errorf("record %d: %w", r.Offset, err)
		}
		part, err := schemas.DecodeLedgerPart(r.Key, value)
		if err != nil {
			return l, fmt.Errorf("record %d: %w", r.Offset, err)
		}
		switch {
		case part.Tombstone:
			continue
		case part.Set.Epoch < newest:
			return l, fmt.Errorf("record %d of epoch %d stands after one of epoch %d", r.Offset, part.Set.Epoch, newest)
		}
		newest = part.Set.Epoch
		if collected[part.Set] == nil {
			collected[part.Set] = map[uint32]schemas.LedgerPart{}
		}
		collected[part.Set][part.Key.Part] = part
		if err := l.add(collected[part.Set]); err != nil {
			return l, fmt.Errorf("record %d: %w", r.Offset, err)
		}
	}
	return l, nil
}

// add takes a set of parts where it is complete.
func (l *ledger) add(set map[uint32]schemas.LedgerPart) error {
	var parts []schemas.LedgerPart
	for _, i := range slices.Sorted(maps.Keys(set)) {
		parts = append(parts, set[i])
	}
	if parts[0].Key.Kind == schemas.KindSnapshotPart {
		snapshot, err := schemas.JoinSnapshot(parts...)
		if err == nil {
			l.snapshots[snapshot.Turn] = snapshot
		}
		return ignoreIncomplete(err)
	}
	delta, err := schemas.JoinDelta(parts...)
	if err != nil {
		return ignoreIncomplete(err)
	}
	if known, again := l.deltas[delta.Turn]; again && known.BodyDigest() != delta.BodyDigest() {
		return fmt.Errorf("turn %d was written twice with different contents", delta.Turn)
	}
	l.deltas[delta.Turn] = delta
	return nil
}

func ignoreIncomplete(err error) error {
	if errors.Is(err, schemas.ErrIncomplete) {
		return nil
	}
	return err
}
