package schemas

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// LedgerReader collects a ledger partition's records in log order and returns the complete deltas
// and the newest snapshot. A part replaces an earlier part with the same key, so compaction of the
// topic makes no difference. A set of parts is ignored if one of them is missing or was replaced by
// a part of another set. The reader keeps copies of the current parts only. It is not safe for
// concurrent use. The zero value is ready for use.
type LedgerReader struct {
	slots map[ledgerSlot]map[uint32]LedgerPart // by part number
}

type ledgerSlot struct {
	kind Kind // KindDeltaPart or KindSnapshotPart
	slot uint64
}

// Add adds the next record of the partition; a nil value is a tombstone. The bytes are copied.
// Errors: ErrMalformed, ErrVersion. The caller may continue after a malformed record: if the
// record's key is a valid ledger key, the part with that key is then missing.
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
	id := ledgerSlot{p.Key.Kind, p.Key.Slot}
	slot := l.slots[id]
	if p.Tombstone {
		delete(slot, p.Key.Part)
		return
	}
	if l.slots == nil {
		l.slots = make(map[ledgerSlot]map[uint32]LedgerPart)
	}
	if slot == nil {
		slot = make(map[uint32]LedgerPart)
		l.slots[id] = slot
	}
	slot[p.Key.Part] = p
}

// complete returns, in order, the parts of a slot's set, if all are present. Part 0 identifies the
// set: it is written first, so a newer set without a part 0 has no parts at all.
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

// deltaSets maps each turn with a complete delta to the delta's parts. Two slots may hold deltas of
// the same turn if the number of slots has changed; deltaSets then returns the delta from the later
// epoch or, if the epochs are equal, from the lower slot.
func (l *LedgerReader) deltaSets() map[uint64][]LedgerPart {
	sets := make(map[uint64][]LedgerPart, len(l.slots))
	for _, id := range slices.SortedFunc(maps.Keys(l.slots), func(a, b ledgerSlot) int {
		return cmp.Compare(a.slot, b.slot)
	}) {
		parts, ok := complete(l.slots[id])
		if !ok || id.kind != KindDeltaPart {
			continue
		}
		set := parts[0].Set
		if other, taken := sets[set.Turn]; !taken || other[0].Set.Epoch < set.Epoch {
			sets[set.Turn] = parts
		}
	}
	return sets
}

// DeltaTurns lists the turns with a complete delta, ascending, without decoding the deltas.
func (l *LedgerReader) DeltaTurns() []uint64 { return slices.Sorted(maps.Keys(l.deltaSets())) }

// DeltasAfter returns the complete deltas of all turns after turn. A snapshot as of turn does not
// include them. Errors: ErrMalformed, ErrVersion.
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

// damaged adds the position of the first part, and a remedy, to an error from joining parts.
func damaged(parts []LedgerPart, err error) error {
	remedy := ""
	if !errors.Is(err, ErrVersion) {
		remedy = "; it is damaged: restore the topic from a copy, or begin a new deployment with new keys"
	}
	return fmt.Errorf("%s: %w%s", cmp.Or(parts[0].place, string(parts[0].Key.Bytes())), err, remedy)
}

// SnapshotInfo identifies the snapshot in a slot.
type SnapshotInfo struct {
	Complete bool // if false, the other fields are not set
	Turn     uint64
	Epoch    int64
}

// Snapshots returns the snapshots in the two slots. The next snapshot is to be written to the slot
// that does not hold the newest snapshot.
func (l *LedgerReader) Snapshots() (out [2]SnapshotInfo) {
	for i := range out {
		if parts, ok := complete(l.slots[ledgerSlot{KindSnapshotPart, uint64(i)}]); ok {
			out[i] = SnapshotInfo{Complete: true, Turn: parts[0].Set.Turn, Epoch: parts[0].Set.Epoch}
		}
	}
	return out
}

// NewestSnapshot returns the complete snapshot with the greatest turn up to maxTurn. Of two
// snapshots as of the same turn it returns the one from the later epoch. The bool is false if there
// is none. It returns the errors of JoinSnapshot.
func (l *LedgerReader) NewestSnapshot(maxTurn uint64) (Snapshot, bool, error) {
	var best []LedgerPart
	for slot := range uint64(2) {
		parts, ok := complete(l.slots[ledgerSlot{KindSnapshotPart, slot}])
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
