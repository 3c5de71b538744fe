package schemas

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// LedgerReader collects a ledger partition's records in log order and returns the complete deltas
// and the newest snapshot. A part replaces an earlier part with its key, as compaction does, so
// that the result does not depend on whether the topic has been compacted; a set counts as absent
// if a part of it is missing or was replaced. It keeps copies of the parts in force and nothing
// else. Not for concurrent use; the zero value is ready.
type LedgerReader struct {
	deltas    map[uint64]map[uint32]LedgerPart // by slot and part
	snapshots [2]map[uint32]LedgerPart
}

// Add takes the next record of the partition; a nil value is a tombstone. The bytes are copied.
// Errors: ErrMalformed, ErrVersion. A malformed record under a valid ledger key replaces the
// earlier record with this key, as any later record does: the caller may go on, and finds that part
// missing if it is needed. A malformed record under another key changes nothing.
func (l *LedgerReader) Add(r LedgerRecord) error {
	p, err := DecodeLedgerPart(r.Key, r.Value)
	if err != nil {
		if k, keyErr := DecodeLedgerKey(r.Key); keyErr == nil && errors.Is(err, ErrMalformed) {
			l.put(LedgerPart{Key: k, Tombstone: true})
		}
		return fmt.Errorf("reading ledger: %w", err)
	}
	// A slice of a fetched batch would keep the whole batch alive.
	p.Chunk, p.place = slices.Clone(p.Chunk), r.Place
	l.put(p)
	return nil
}

func (l *LedgerReader) put(p LedgerPart) {
	switch p.Key.Kind {
	case KindSnapshotPart:
		if l.snapshots[p.Key.Slot] == nil {
			l.snapshots[p.Key.Slot] = make(map[uint32]LedgerPart)
		}
		putPart(l.snapshots[p.Key.Slot], p)
	default:
		if l.deltas == nil {
			l.deltas = make(map[uint64]map[uint32]LedgerPart)
		}
		if l.deltas[p.Key.Slot] == nil {
			l.deltas[p.Key.Slot] = make(map[uint32]LedgerPart)
		}
		putPart(l.deltas[p.Key.Slot], p)
	}
}

func putPart(slot map[uint32]LedgerPart, p LedgerPart) {
	if p.Tombstone {
		delete(slot, p.Key.Part)
		return
	}
	slot[p.Key.Part] = p
}

// complete returns the parts of the set that a slot has in full, in order. Part 0 names the set: it
// is written first, so that the newest set either has it or has no part at all.
func complete(slot map[uint32]LedgerPart) ([]LedgerPart, bool) {
	head, ok := slot[0]
	if !ok || int64(head.Set.Parts) > int64(len(slot)) {
		return nil, false
	}
	parts := make([]LedgerPart, head.Set.Parts)
	for i := range parts {
		p, ok := slot[uint32(i)]
		if !ok || p.Set != head.Set {
			return nil, false
		}
		parts[i] = p
	}
	return parts, true
}

// deltaSets maps each turn whose delta is complete to its parts. If two slots have the same turn,
// because the number of slots has changed, it takes the delta of the later epoch.
func (l *LedgerReader) deltaSets() map[uint64][]LedgerPart {
	sets := make(map[uint64][]LedgerPart, len(l.deltas))
	for _, slot := range slices.Sorted(maps.Keys(l.deltas)) {
		parts, ok := complete(l.deltas[slot])
		if !ok {
			continue
		}
		set := parts[0].Set
		if other, taken := sets[set.Turn]; !taken || other[0].Set.Epoch < set.Epoch {
			sets[set.Turn] = parts
		}
	}
	return sets
}

// DeltaTurns lists the turns whose delta is complete, ascending, without decoding the deltas.
func (l *LedgerReader) DeltaTurns() []uint64 {
	return slices.Sorted(maps.Keys(l.deltaSets()))
}

// DeltasAfter returns the complete deltas of turns greater than turn, by turn: those that a
// snapshot as of turn does not include; all of them if turn is 0. Errors: ErrMalformed, ErrVersion.
func (l *LedgerReader) DeltasAfter(turn uint64) (map[uint64]Delta, error) {
	out := make(map[uint64]Delta)
	for t, parts := range l.deltaSets() {
		if t <= turn {
			continue
		}
		d, err := JoinDelta(parts...)
		if err != nil {
			return nil, damaged(parts, err)
		}
		out[t] = d
	}
	return out, nil
}

// damaged adds to the error of joining parts the position of the first part, and a remedy.
func damaged(parts []LedgerPart, err error) error {
	cure := ""
	if !errors.Is(err, ErrVersion) {
		cure = "; it is damaged: restore the topic from a copy, or begin a new deployment with new keys"
	}
	return fmt.Errorf("%s: %w%s", cmp.Or(parts[0].place, string(parts[0].Key.Bytes())), err, cure)
}

// SnapshotInfo identifies the snapshot in a slot.
type SnapshotInfo struct {
	Complete bool // the other fields are set only if it is
	Turn     uint64
	Epoch    int64
}

// Snapshots returns the snapshots of the two slots: the next snapshot goes to the slot without the
// newest one.
func (l *LedgerReader) Snapshots() (out [2]SnapshotInfo) {
	for i := range out {
		if parts, ok := complete(l.snapshots[i]); ok {
			out[i] = SnapshotInfo{Complete: true, Turn: parts[0].Set.Turn, Epoch: parts[0].Set.Epoch}
		}
	}
	return out
}

// NewestSnapshot returns the complete snapshot with the greatest turn up to maxTurn, of two with
// the same turn the one of the later epoch; false if there is no such snapshot. It returns the
// errors of JoinSnapshot.
func (l *LedgerReader) NewestSnapshot(maxTurn uint64) (Snapshot, bool, error) {
	var best []LedgerPart
	for i := range l.snapshots {
		parts, ok := complete(l.snapshots[i])
		if !ok || parts[0].Set.Turn > maxTurn {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(parts[0].Set.Turn, best[0].Set.Turn),
			cmp.Compare(parts[0].Set.Epoch, best[0].Set.Epoch)) > 0 {
			best = parts
		}
	}
	if best == nil {
		return Snapshot{}, false, nil
	}
	s, err := JoinSnapshot(best...)
	if err != nil {
		return Snapshot{}, false, damaged(best, err)
	}
	return s, true, nil
}
