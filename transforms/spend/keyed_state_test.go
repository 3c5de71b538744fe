package spend

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/fixedseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

func TestMetaRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := meta{epoch: rapid.Int64().Draw(t, "epoch"), base: rapid.Uint64Range(0, 1<<62).Draw(t, "base")}
		m.last = m.base + rapid.Uint64Range(0, 1<<62).Draw(t, "deltas")
		if got, err := decodeMeta(m.encode()); err != nil || got != m {
			t.Fatalf("decoded %+v of %+v (%v)", got, m, err)
		}
		b := m.encode()
		if _, err := decodeMeta(b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")]); err == nil {
			t.Fatal("a cut description was taken")
		}
		if _, err := decodeMeta(append(b, 0)); err == nil {
			t.Fatal("a byte too many was taken")
		}
	})
}

func FuzzDecodeMeta(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte{metaVersion})
	f.Add([]byte{metaVersion + 1, 0, 0, 0})
	f.Add(meta{epoch: -1}.encode())
	f.Add(meta{epoch: 1 << 40, base: 7, last: 9}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMeta(b)
		if err != nil {
			return
		}
		if m.last < m.base {
			t.Fatal("the last turn is before the base")
		}
		if again, err := decodeMeta(m.encode()); err != nil || again != m {
			t.Fatalf("%+v does not come back: %+v, %v", m, again, err)
		}
	})
}

func someDelta(turn uint64) *schemas.Delta {
	admitted := schemas.NewBits(1)
	admitted.Set(0)
	return &schemas.Delta{Turn: turn, Epoch: 5, Records: 3, Windows: []schemas.MetricWindow{{WindowEnd: 1000}}, Tallies: make([]schemas.WindowTally, 1), Filtered: []uint64{},
		Labels: []schemas.Label{{Key: []byte("a")}, {Key: []byte("b")}}, Users: []schemas.DeltaUser{
			{ID: state.AccountID{1}, Slice: []schemas.KeyCount{{Key: 0, N: 2}}, Admitted: admitted},
			{ID: state.AccountID{2}, Period: 3, Slice: []schemas.KeyCount{{Key: 1, N: 1}}, Admitted: schemas.NewBits(1)}}}
}

func TestDeltasOfTheStateRoundTrip(t *testing.T) {
	for _, turn := range []uint64{1, 2, 1 << 40} {
		want := someDelta(turn)
		b, err := encodeDelta(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeDelta(b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("decoded %+v (%v)", got, err)
		}
	}
}

func FuzzDecodeDelta(f *testing.F) {
	f.Add([]byte(nil))
	for _, turn := range []uint64{1, 300} {
		b, err := encodeDelta(someDelta(turn))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)-1])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := decodeDelta(b)
		if err != nil {
			return
		}
		again, err := encodeDelta(d)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("what was decoded has another encoding (%v)", err)
		}
	})
}

// FuzzStateOfThisEpoch: whatever stands in the keyed state, an Engine neither
// crashes nor goes over budget; it goes on, or says why not.
func FuzzStateOfThisEpoch(f *testing.F) {
	delta, err := encodeDelta(someDelta(2))
	if err != nil {
		f.Fatal(err)
	}
	base, err := state.NewShard().AppendBinary([]byte{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(meta{epoch: 1, base: 1, last: 2}.encode(), base, delta)
	f.Add(meta{epoch: 1, base: 0, last: 1}.encode(), base, delta)
	f.Add([]byte{metaVersion, 2, 0, 0}, []byte(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, meta, base, delta []byte) {
		w := mustWorld(t, oneMetric())
		mustPlay(t, w, 1, 2)
		w.keyed[0] = &memState{meta: meta, base: base, deltas: [][]byte{delta}}
		w.forget = ForgetCache
		if _, err := w.play(3, oneUser(3), nil); err != nil {
			return
		}
		for _, a := range w.accounts() {
			if sum, ok := a.Spent.Add(a.Reserved); !ok || sum > w.budget.Mu2 {
				t.Fatalf("an account is over budget: %+v", a)
			}
		}
	})
}

// TestTheBaseIsWrittenOnceTheDeltasWeighMoreThanIt, not every turn: a turn
// costs what its active users cost.
func TestTheBaseIsWrittenOnceTheDeltasWeighMoreThanIt(t *testing.T) {
	s := oneMetric()
	s.slots = 1 << 20
	w := mustWorld(t, s)
	bases := 0
	var last []byte
	for turn := uint64(1); turn <= 2*maxDeltas+10; turn++ {
		mustPlay(t, w, turn, turn)
		if !bytes.Equal(last, w.keyed[0].base) {
			bases, last = bases+1, w.keyed[0].base
		}
		if len(w.keyed[0].deltas) > maxDeltas {
			t.Fatalf("turn %d: %d deltas in the state", turn, len(w.keyed[0].deltas))
		}
	}
	if bases != 3 {
		t.Fatalf("the base was written %d times in %d turns", bases, 2*maxDeltas+10)
	}
}

// TestTheBaseIsNeverOlderThanTheLedgerHasSlots: the settlements that its deltas
// are charged by are kept for twice as long, no longer.
func TestTheBaseIsNeverOlderThanTheLedgerHasSlots(t *testing.T) {
	s := oneMetric()
	s.slots = 6
	w := mustWorld(t, s)
	for turn := uint64(1); turn <= 50; turn++ {
		if turn%13 == 0 {
			w.forget = ForgetCache
		}
		mustPlay(t, w, turn, turn)
		m, err := decodeMeta(w.keyed[0].meta)
		if err != nil || m.last-m.base > uint64(s.slots) {
			t.Fatalf("turn %d: the base is as of turn %d (%v)", turn, m.base, err)
		}
	}
}

// TestAForgottenCacheIsReadFromTheState, not from the ledger.
func TestAForgottenCacheIsReadFromTheState(t *testing.T) {
	w := mustWorld(t, oneMetric())
	mustPlay(t, w, 1, 4)
	takes := w.ledger.takes
	for turn := uint64(5); turn <= 9; turn++ {
		w.forget = ForgetCache
		mustPlay(t, w, turn, turn)
		if w.keyed[0].loads != 1 {
			t.Fatal("the state was not read")
		}
	}
	if w.ledger.takes != takes {
		t.Fatal("the ledger was read")
	}
	w.forget = ForgetShard
	mustPlay(t, w, 10, 10)
	if w.ledger.takes != takes+1 {
		t.Fatal("the ledger was not read")
	}
}

// TestAStateWithoutADecisionIsNotRead: a base with no delta after it was never
// written by this package.
func TestAStateWithoutADecisionIsNotRead(t *testing.T) {
	w := mustWorld(t, oneMetric())
	mustPlay(t, w, 1, 2)
	takes := w.ledger.takes
	for _, last := range []uint64{2, 3} {
		w.keyed[0] = &memState{meta: meta{epoch: w.epoch, base: last, last: last}.encode()}
		w.forget = ForgetCache
		if _, err := w.play(3, oneUser(3), nil); err != nil {
			t.Fatal(err)
		}
	}
	if w.ledger.takes != takes+2 {
		t.Fatal("the ledger was not read instead")
	}
}
