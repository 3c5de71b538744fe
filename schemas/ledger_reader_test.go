package schemas

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// smallDelta is a delta of turn whose size grows with n.
func smallDelta(turn uint64, epoch int64, n int) Delta {
	d := Delta{Turn: turn, Epoch: epoch, Records: uint64(n)}
	for i := range n {
		d.Users = append(d.Users, DeltaUser{ContribUser: ContribUser{ID: accounts.ID{byte(i)}}})
	}
	return d
}

func mustEncode(t interface{ Fatal(...any) }, d Delta, slots uint64) []LedgerRecord {
	records, err := EncodeDelta(d, slots, 160)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func addAll(t interface{ Fatal(...any) }, l *LedgerReader, records []LedgerRecord) {
	for _, r := range records {
		if err := l.Add(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheNewestSnapshotUpToATurnCounts(t *testing.T) {
	var l LedgerReader
	if _, ok, err := l.NewestSnapshot(100); ok || err != nil {
		t.Fatal("a snapshot in an empty ledger")
	}
	add := func(turn uint64, slot, keep int) {
		s := Snapshot{Turn: turn, Epoch: 3, Accounts: []accounts.Entry{
			{ID: accounts.ID{1}, Account: accounts.Account{Spent: units.Mu2(turn)}},
			{ID: accounts.ID{2}, Account: accounts.Account{Spent: 1 << 60}, Debts: []units.Mu2{1 << 60}}}}
		records, err := EncodeSnapshot(s, slot, partOverhead+20)
		if err != nil || len(records) < 3 {
			t.Fatal(len(records), err)
		}
		if keep > 0 {
			records = records[:keep]
		}
		addAll(t, &l, records)
	}
	add(4, 0, 0)
	add(8, 1, 0)
	for limit, want := range map[uint64]uint64{3: 0, 4: 4, 7: 4, 8: 8, 100: 8} {
		s, ok, err := l.NewestSnapshot(limit)
		if err != nil || ok != (want > 0) || s.Turn != want {
			t.Errorf("up to %d: %d %v %v", limit, s.Turn, ok, err)
		}
	}
	add(12, 0, 2) // killed within
	if got := l.Snapshots(); got != [2]SnapshotInfo{{}, {true, 8, 3}} {
		t.Error(got)
	}
	if s, ok, err := l.NewestSnapshot(100); !ok || err != nil || s.Turn != 8 {
		t.Error(s.Turn, ok, err)
	}
}

func TestTombstonesTakeAway(t *testing.T) {
	var l LedgerReader
	records := mustEncode(t, smallDelta(1, 5, 20), 4)
	addAll(t, &l, append(records, LedgerRecord{Key: records[1].Key}, LedgerRecord{Key: []byte("snapshot/0/3")},
		LedgerRecord{Key: []byte("delta/3/0")}))
	if got := l.DeltaTurns(); len(got) != 0 {
		t.Error("a delta with a deleted part is there")
	}
}

func TestAChangedByteInALedgerIsFound(t *testing.T) {
	records := mustEncode(t, smallDelta(1, 5, 20), 4)
	var l LedgerReader
	records[1].Value[len(records[1].Value)-1] ^= 1
	addAll(t, &l, records)
	if _, err := l.DeltasAfter(0); err == nil {
		t.Error("a changed delta was read")
	}
}

// modelDeltas returns the complete turns, from the last value of each key alone.
func modelDeltas(t *rapid.T, log []LedgerRecord) map[uint64]int64 {
	last := make(map[string][]byte)
	for _, r := range log {
		last[string(r.Key)] = r.Value
	}
	sets := make(map[string][]LedgerPart)
	for k, v := range last {
		p, err := DecodeLedgerPart([]byte(k), v)
		if err != nil {
			t.Fatal(err)
		}
		if !p.Tombstone {
			name := fmt.Sprint(p.Key.Kind, p.Key.Slot, p.Set)
			sets[name] = append(sets[name], p)
		}
	}
	out := make(map[uint64]int64)
	for _, parts := range sets {
		if s := parts[0].Set; len(parts) == int(s.Parts) {
			out[s.Turn] = s.Epoch
		}
	}
	return out
}

// The reader finds the same complete deltas after any sequence of writes, kills, repeated writes
// and compactions.
func TestTheReaderDoesNotDependOnCompaction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log []LedgerRecord
		for range rapid.IntRange(1, 12).Draw(t, "writes") {
			turn, epoch := rapid.Uint64Range(1, 9).Draw(t, "turn"), rapid.Int64Range(1, 3).Draw(t, "epoch")
			records := mustEncode(t, smallDelta(turn, epoch, int(turn%4)*6), 4)
			log = append(log, records[:rapid.IntRange(0, len(records)).Draw(t, "written")]...)
			if rapid.IntRange(0, 9).Draw(t, "tombstone") == 0 {
				log = append(log, LedgerRecord{Key: records[0].Key})
			}
		}
		var compacted []LedgerRecord
		for i, r := range log {
			later := slices.ContainsFunc(log[i+1:], func(o LedgerRecord) bool { return string(o.Key) == string(r.Key) })
			if !later || rapid.Bool().Draw(t, "kept") {
				compacted = append(compacted, r)
			}
		}
		want := modelDeltas(t, log)
		for _, records := range [][]LedgerRecord{log, compacted} {
			var l LedgerReader
			addAll(t, &l, records)
			deltas, err := l.DeltasAfter(0)
			if err != nil {
				t.Fatal(err)
			}
			got := make(map[uint64]int64)
			for turn, d := range deltas {
				if d.Turn != turn {
					t.Fatal("delta under another turn")
				}
				got[turn] = d.Epoch
			}
			if !maps.Equal(got, want) || !slices.Equal(l.DeltaTurns(), slices.Sorted(maps.Keys(want))) {
				t.Fatalf("complete %v, want %v", got, want)
			}
			for after := range uint64(4) {
				later, err := l.DeltasAfter(after)
				if err != nil {
					t.Fatal(err)
				}
				for turn := range want {
					if _, ok := later[turn]; ok != (turn > after) {
						t.Fatalf("turn %d after %d: %v", turn, after, ok)
					}
				}
			}
		}
	})
}

// If two snapshots are as of one turn, the later epoch's counts, whichever slot has it.
func TestRuleTheLaterSnapshotOfATurnCounts(t *testing.T) {
	for later := range 2 {
		var l LedgerReader
		for slot := range 2 {
			s := Snapshot{Turn: 5, Epoch: 1}
			if slot == later {
				s.Epoch, s.Forgotten = 2, []ForgottenMark{{1}}
			}
			records, err := EncodeSnapshot(s, slot, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Add(records[0]); err != nil {
				t.Fatal(err)
			}
		}
		if s, ok, err := l.NewestSnapshot(9); err != nil || !ok || s.Epoch != 2 {
			t.Errorf("slot %d has the later one: %+v, %v", later, s, err)
		}
	}
}
