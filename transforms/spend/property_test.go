package spend

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

var testKeys = []string{"", "a", "b", "c", "d", "é", "zz"}

// drawSettings makes a small deployment whose users soon run out of budget.
func drawSettings(t *rapid.T) settings {
	s := settings{
		shards:        rapid.IntRange(1, 3).Draw(t, "shards"),
		releaseShards: rapid.IntRange(1, 3).Draw(t, "release shards"),
		slots:         rapid.IntRange(minLedgerSlots, 9).Draw(t, "slots"),
	}
	metrics := rapid.IntRange(1, 3).Draw(t, "metrics")
	for i := range metrics {
		m := schemas.MetricSpec{
			Name: fmt.Sprintf("m%d", i), Kind: "events", KeyMode: "private", WindowSize: 1000, WindowSlide: 1000,
			MaxKeysPerUser:  rapid.Uint32Range(1, 4).Draw(t, "K"),
			MaxEventsPerKey: rapid.Uint32Range(1, 5).Draw(t, "C"),
			First:           state.Precision{Lo: rapid.Uint64Range(1, 1<<41).Draw(t, "first")},
			DeltaKey:        state.Delta{Lo: rapid.Uint64Range(1, 5).Draw(t, "delta key")},
		}
		m.Top, _ = m.First.Add(state.Precision{Lo: rapid.Uint64Range(0, 1<<44).Draw(t, "top")})
		if rapid.Bool().Draw(t, "public") {
			m.KeyMode, m.DeltaKey = keyModePublic, state.Delta{}
			for _, k := range testKeys[:rapid.IntRange(1, len(testKeys)).Draw(t, "public keys")] {
				m.PublicKeys = append(m.PublicKeys, []byte(k))
			}
		}
		s.metrics = append(s.metrics, m)
	}
	s.budget = state.Budget{
		Mu2:  state.Mu2(rapid.Uint64Range(1, 1<<12).Draw(t, "B²")),
		Keys: state.Delta{Lo: rapid.Uint64Range(0, 60).Draw(t, "δ keys")},
	}
	return s
}

func drawContributions(t *rapid.T) []contribution {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) contribution {
		return contribution{
			user:   rapid.IntRange(0, 5).Draw(t, "user"),
			period: rapid.Int64Range(-1, 1).Draw(t, "period"),
			key:    rapid.SampledFrom(testKeys).Draw(t, "key"),
			n:      rapid.Uint32Range(1, 7).Draw(t, "n"),
		}
	}), 0, 12).Draw(t, "contributions")
}

func drawHappenings(t *rapid.T, shards int) []happening {
	if rapid.IntRange(0, 2).Draw(t, "calm") == 0 {
		return nil
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) happening {
		return happening{
			shard: rapid.IntRange(0, shards-1).Draw(t, "shard"),
			kind:  kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind")),
			arg:   rapid.IntRange(0, 6).Draw(t, "records that land"),
		}
	}), 1, 3).Draw(t, "happenings")
}

// TestAccountsAreExactWhateverHappens is invariant 1 and invariant 5 in one:
// under crashes at any point of an append, restarts, lost caches and lost
// state, redeliveries and compaction, counts, tallies and accounts are those of
// an independent sequential computation, no account is ever over budget, and
// partial counts and ledger are byte for byte those of an undisturbed run.
func TestAccountsAreExactWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		disturbed, err := newWorld(s, 1)
		if err != nil {
			t.Fatal(err)
		}
		quiet, err := newWorld(s, 2)
		if err != nil {
			t.Fatal(err)
		}
		watchSlots(t, disturbed)
		disturbed.maxRecord = rapid.SampledFrom([]int{130, 200, maxLedgerRecord}).Draw(t, "bytes of a ledger record")
		disturbed.engine.maxRecord = disturbed.maxRecord
		m := newModel(s)
		turns := rapid.IntRange(1, 3*s.slots).Draw(t, "turns")
		for turn := uint64(1); turn <= uint64(turns); turn++ {
			cs := drawContributions(t)
			m.open(turn, cs)
			want, err := quiet.play(turn, cs, nil)
			if err != nil {
				t.Fatalf("turn %d, undisturbed: %v", turn, err)
			}
			got, err := disturbed.play(turn, cs, drawHappenings(t, s.shards))
			if err != nil {
				t.Fatalf("turn %d: %v", turn, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("turn %d: partial counts are %+v, undisturbed %+v", turn, got, want)
			}
			if err := disturbed.agree(m, got); err != nil {
				t.Fatalf("turn %d: %v", turn, err)
			}
			sameDeltas(t, turn, disturbed, quiet)
			quiet.settle(turn, want)
			m.charge(turn, disturbed.settle(turn, got))
		}
	})
}

// sameDeltas compares the bodies of a turn's deltas in two ledgers.
func sameDeltas(t *rapid.T, turn uint64, a, b *world) {
	t.Helper()
	for shard := range a.shards {
		var digests [2][32]byte
		for i, w := range []*world{a, b} {
			r, err := w.ledger.reader(shard)
			if err != nil {
				t.Fatal(err)
			}
			d, ok, err := r.Delta(turn)
			if err != nil || !ok {
				t.Fatalf("turn %d, shard %d: handed on without a delta in the ledger (%v)", turn, shard, err)
			}
			digests[i] = d.BodyDigest()
		}
		if digests[0] != digests[1] {
			t.Fatalf("turn %d, shard %d: the ledger's decisions differ from an undisturbed run's", turn, shard)
		}
	}
}

// watchSlots checks the two rules of what may be overwritten at every record
// that lands: a delta only where a snapshot of an earlier append covers it, a
// snapshot only in the slot that does not hold the newest.
func watchSlots(t *rapid.T, w *world) {
	w.ledger.onRecord = func(shard int, log []state.LedgerRecord, r state.LedgerRecord) {
		part, err := schemas.DecodeLedgerPart(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		var before schemas.LedgerReader
		for _, old := range log {
			if err := before.Add(old.Key, old.Value); err != nil {
				t.Fatal(err)
			}
		}
		turn := part.Set.Turn
		switch part.Key.Kind {
		case schemas.KindDeltaPart:
			covered := turn < uint64(w.slots)
			for _, s := range before.Snapshots() {
				covered = covered || (s.Complete && s.Turn >= turn-uint64(w.slots) && s.Turn+1 < turn)
			}
			if turn == uint64(w.slots) { // slot 0 was never written
				covered = true
			}
			if !covered {
				t.Fatalf("shard %d: the delta of turn %d overwrites one that no earlier snapshot covers: %+v", shard, turn, before.Snapshots())
			}
		case schemas.KindSnapshotPart:
			at, other := before.Snapshots()[part.Key.Slot], before.Snapshots()[1-part.Key.Slot]
			if at.Complete && at.Turn >= other.Turn {
				t.Fatalf("shard %d: the snapshot of turn %d overwrites the newest complete one, of turn %d", shard, turn, at.Turn)
			}
		}
	}
}
