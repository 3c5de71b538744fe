package accounts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/units"
)

// get returns the account, and whether it is not zero.
func (s *Shard) get(id ID, period int64) (Account, bool) {
	_, a := s.Find(id, period)
	return a, !a.IsZero()
}

func (s *Shard) put(id ID, period int64, a Account) error {
	_, err := s.PutAt(-1, id, period, a)
	return err
}

// smallKey draws from few ids and periods, so that they repeat, and from ids that agree in one
// half, so that 64 bits cannot distinguish them.
func smallKey(t *rapid.T) (id ID, period int64) {
	binary.BigEndian.PutUint64(id[:8],
		rapid.SampledFrom([]uint64{0, 1, 2, 1 << 40, 1 << 63, 1<<64 - 1}).Draw(t, "high"))
	binary.BigEndian.PutUint64(id[8:], rapid.SampledFrom([]uint64{0, 1, 1 << 63, 1<<64 - 1}).Draw(t, "low"))
	return id, rapid.SampledFrom([]int64{-1 << 63, -1, 0, 1, 7, 1<<63 - 1}).Draw(t, "period")
}

func smallAccount(t *rapid.T) Account {
	small := func(name string) uint64 {
		return rapid.Uint64().Draw(t, name) >> rapid.SampledFrom([]uint{0, 7, 8, 30, 56, 64}).Draw(t, name+" shift")
	}
	return Account{Spent: units.Mu2(small("spent")), Reserved: units.Mu2(small("reserved"))}
}

func sortedEntries(m map[accountKey]Account) []Entry {
	var entries []Entry
	for k, a := range m {
		entries = append(entries, Entry{ID: k.id, Period: k.period, Account: a})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return a.compare(b.ID, b.Period) })
	return entries
}

// encoded returns the accounts of a shard at rest.
func encoded(t testing.TB, s *Shard) []byte {
	t.Helper()
	return must.Have(Encode(nil, slices.Collect(s.All())))
}

func decoded(t testing.TB, b []byte) *Shard {
	t.Helper()
	entries, rest, err := Decode(b)
	if err != nil || len(rest) != 0 {
		t.Fatalf("%d bytes left over, %v", len(rest), err)
	}
	return shardOf(t, entries)
}

// A Shard is a map whose values never fall, and whose encoding is that map.
func TestShardIsAMapOfAccounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewShard()
		model := map[accountKey]Account{}
		settled := true
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			id, period := smallKey(t)
			a := smallAccount(t)
			k := accountKey{id, period}
			was := model[k]
			err := s.put(id, period, a)
			lowered := a.Spent < was.Spent
			if lowered != errors.Is(err, ErrLowered) || !lowered && err != nil {
				t.Fatalf("Put %+v over %+v: %v", a, was, err)
			}
			if !lowered {
				model[k] = a
			}
			if model[k].IsZero() {
				delete(model, k)
			}
			if rapid.Bool().Draw(t, "sort now") {
				for range s.All() {
					break
				}
			}
		}
		want := sortedEntries(model)
		if got := slices.Collect(s.All()); !slices.EqualFunc(got, want, Entry.Equal) || s.Len() != len(want) {
			t.Fatalf("accounts %v, want %v", got, want)
		}
		for _, e := range want {
			if a, ok := s.get(e.ID, e.Period); !ok || a != e.Account {
				t.Fatalf("Get = %+v, %v, want %+v", a, ok, e.Account)
			}
			settled = settled && e.Account.Reserved == 0
		}
		b, err := Encode([]byte("before"), slices.Collect(s.All()))
		if settled != (err == nil) || !settled && !errors.Is(err, ErrReserved) {
			t.Fatalf("encoding with settled = %v: %v", settled, err)
		}
		if err != nil {
			if string(b) != "before" {
				t.Fatal("a failed encoding appended something")
			}
			return
		}
		back, rest, err := Decode(b[len("before"):])
		if err != nil || len(rest) != 0 || !slices.EqualFunc(back, want, Entry.Equal) {
			t.Fatalf("decoded %v with %d bytes left over, %v; want %v", back, len(rest), err, want)
		}
	})
}

func TestRuleAccountsAreNeverDeletedOrLowered(t *testing.T) {
	s := NewShard()
	id := ID{1}
	if err := s.put(id, 0, Account{}); err != nil || s.Len() != 0 {
		t.Fatalf("a zero account was stored: %v", err)
	}
	spent := Account{Spent: 10, Reserved: 5}
	must.Have(0, s.put(id, 0, spent))
	index, _ := s.Find(id, 0)
	for _, a := range []Account{{}, {Spent: 9}} {
		if err := s.put(id, 0, a); !errors.Is(err, ErrLowered) {
			t.Errorf("%+v over %+v: %v", a, spent, err)
		}
		if _, err := s.PutAt(index, id, 0, a); !errors.Is(err, ErrLowered) {
			t.Errorf("%+v over %+v, by its index: %v", a, spent, err)
		}
	}
	if a, ok := s.get(id, 0); !ok || a != spent {
		t.Errorf("account is %+v, %v, want %+v", a, ok, spent)
	}
	// A reservation returned in full leaves nothing to store, and no trace.
	other := ID{2}
	must.Have(0, s.put(other, 0, Account{Reserved: 7}))
	must.Have(0, errors.Join(s.put(other, 0, Account{}), s.put(id, 0, Account{Spent: 10})))
	if _, ok := s.get(other, 0); ok || s.Len() != 1 {
		t.Errorf("a returned reservation is still an account; Len = %d", s.Len())
	}
	if b := encoded(t, s); len(b) != 3+1+16+1 {
		t.Errorf("encoding of one account: %d bytes", len(b))
	}
}

func TestRulePeriodsAreAccountsOfTheirOwn(t *testing.T) {
	b := testBudget(t, 0)
	s := NewShard()
	const periods = 20_000 // enough for hashes to agree wherever an index compares them
	for period := int64(-periods / 2); period < periods/2; period++ {
		a, ok := s.get(ID{1}, period)
		if ok || !a.Fits(b, b.Mu2) {
			t.Fatalf("period %d begins with %+v", period, a)
		}
		a.Spent = b.Mu2
		must.Have(0, s.put(ID{1}, period, a))
	}
	for period := int64(-periods / 2); period < periods/2; period++ {
		if a, ok := s.get(ID{1}, period); !ok || a != (Account{Spent: b.Mu2}) {
			t.Fatalf("period %d goes on with %+v, %v", period, a, ok)
		}
	}
	if s.Len() != periods {
		t.Errorf("%d accounts for %d periods", s.Len(), periods)
	}
}

func TestRuleAccountIDsAreToldApartByAll128Bits(t *testing.T) {
	s := NewShard()
	var ids []ID
	for bit := range 128 {
		var id ID
		id[bit/8] = 1 << (bit % 8)
		ids = append(ids, id)
		must.Have(0, s.put(id, 0, Account{Spent: units.Mu2(bit + 1)}))
	}
	s = decoded(t, encoded(t, s))
	for bit, id := range ids {
		if a, ok := s.get(id, 0); !ok || a.Spent != units.Mu2(bit+1) {
			t.Errorf("bit %d: %+v, %v", bit, a, ok)
		}
		one := NewShard()
		must.Have(0, one.put(ID{}, 0, Account{Spent: 1}))
		// The hashes of two ids may agree: the search for one meets the entry of the other.
		k := accountKey{id, 0}
		slot, _ := one.find(k)
		one.index[slot] = slotOf(one.hash(k), 0)
		if a, ok := one.get(id, 0); ok {
			t.Errorf("bit %d, hashes that agree: took over %+v", bit, a)
		}
	}
}

// manyAccounts fills a shard as a deployment would: hashed ids, amounts near
// B²/2, a debt where asked.
func manyAccounts(tb testing.TB, n int, withDebts bool) *Shard {
	tb.Helper()
	rng := rand.New(runseed.PCG(tb, 1, uint64(n)))
	s := NewShard()
	for range n {
		var id ID
		binary.BigEndian.PutUint64(id[:8], rng.Uint64())
		binary.BigEndian.PutUint64(id[8:], rng.Uint64())
		a := Account{Spent: units.Mu2(30_000_000_000 + rng.Uint64N(30_000_000_000))}
		e := Entry{ID: id, Account: a}
		if withDebts {
			e.Debts = []units.Mu2{a.Spent / 2}
		}
		if err := s.Restore(e); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

func TestAccountsTakeAtMost40BytesAtRest(t *testing.T) {
	for _, withDebts := range []bool{false, true} {
		s := manyAccounts(t, 15_625, withDebts)
		b := encoded(t, s)
		limit := 23.0
		if withDebts {
			limit = 32
		}
		if each := float64(len(b)) / 15_625; each > limit {
			t.Errorf("with debts %v: %.1f bytes a user, want at most %v", withDebts, each, limit)
		}
	}
}

func BenchmarkDecode1e6(b *testing.B) {
	for _, withDebts := range []bool{false, true} {
		b.Run(fmt.Sprintf("debts=%v", withDebts), func(b *testing.B) {
			enc := encoded(b, manyAccounts(b, 1_000_000, withDebts))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Decode(enc); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(enc))/1e6, "B/user")
		})
	}
}

// One turn of one user: get, reserve, put; get, settle, put. The figures must not
// grow with the number of turns that the account has seen.
func BenchmarkAccountUpdate(b *testing.B) {
	budget := testBudget(b, 0)
	for _, history := range []int{1, 1_000, 1_000_000} {
		b.Run(fmt.Sprintf("history=%d", history), func(b *testing.B) {
			s := manyAccounts(b, 15_625, false)
			id := ID{1, 2, 3}
			update := func(actual units.Mu2) {
				a, _ := s.get(id, 0)
				must.Have(0, a.Reserve(budget, 1000))
				must.Have(0, s.put(id, 0, a))
				a, _ = s.get(id, 0)
				must.Have(0, a.Settle(1000, actual))
				must.Have(0, s.put(id, 0, a))
			}
			for range history {
				update(1)
			}
			b.ReportAllocs()
			for b.Loop() {
				update(0)
			}
		})
	}
}

// TestRulePastPeriodsAreDroppedWhole: exactly the accounts of earlier periods are removed, whatever
// the order of insertion, and none with a reservation.
func TestRulePastPeriodsAreDroppedWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewShard()
		kept := map[int64]int{}
		for range rapid.IntRange(0, 60).Draw(t, "accounts") {
			id := ID{byte(rapid.IntRange(0, 9).Draw(t, "id"))}
			period := rapid.Int64Range(-3, 3).Draw(t, "period")
			if _, known := s.get(id, period); !known {
				kept[period]++
			}
			must.Have(0, s.Restore(Entry{ID: id, Period: period, Account: Account{Spent: 5}, Debts: []units.Mu2{0,
				units.Mu2(id[0]), 3}}))
		}
		limit := rapid.Int64Range(-4, 4).Draw(t, "limit")
		must.Have(0, s.DropBefore(limit))
		for e := range s.All() {
			if e.Period < limit || e.Account != (Account{Spent: 5}) ||
				!slices.Equal(e.Debts, []units.Mu2{0, units.Mu2(e.ID[0]), 3}) {
				t.Fatalf("an account of period %d is there: %+v", e.Period, e.Account)
			}
			if a, ok := s.get(e.ID, e.Period); !ok || a != e.Account {
				t.Fatalf("an account of period %d is kept and not found: %+v, %v", e.Period, a, ok)
			}
			kept[e.Period]--
		}
		for period, n := range kept {
			if period >= limit && n != 0 {
				t.Fatalf("%d accounts of period %d are gone", n, period)
			}
		}
	})
	s := NewShard()
	must.Have(0, s.put(ID{1}, 1, Account{Spent: 1, Reserved: 1}))
	if err := s.DropBefore(2); !errors.Is(err, ErrReserved) || s.Len() != 1 {
		t.Errorf("an account with a reservation was dropped: %v", err)
	}
	if err := s.DropBefore(1); err != nil || s.Len() != 1 {
		t.Errorf("dropping nothing: %v", err)
	}
}

// TestRuleAnAccountIsNeverTakenForAnother: an index that is out of date, or of another user or
// period, reads and writes nothing.
func TestRuleAnAccountIsNeverTakenForAnother(t *testing.T) {
	s := NewShard()
	indices := map[ID]int{}
	for i := range 5 {
		id := ID{byte(i)}
		index := must.Have(s.PutAt(-1, id, int64(i), Account{Spent: units.Mu2(10 + i)}))
		indices[id] = index
	}
	for i := range 5 {
		id := ID{byte(i)}
		if a, err := s.At(indices[id], id, int64(i)); err != nil || a.Spent != units.Mu2(10+i) {
			t.Errorf("account %d: %+v, %v", i, a, err)
		}
	}
	if err := s.DropBefore(2); err != nil { // the others move
		t.Fatal(err)
	}
	for _, c := range []struct {
		index  int
		id     ID
		period int64
	}{{indices[ID{3}], ID{3}, 3}, {0, ID{3}, 3}, {0, ID{2}, 3}, {0, ID{3}, 2}, {99, ID{2}, 2}, {-1, ID{2}, 2}} {
		if a, err := s.At(c.index, c.id, c.period); !errors.Is(err, ErrMoved) {
			t.Errorf("index %d of %v in period %d was read: %+v, %v", c.index, c.id, c.period, a, err)
		}
		if c.index < 0 {
			continue // PutAt looks for it
		}
		if _, err := s.PutAt(c.index, c.id, c.period, Account{Spent: 1000}); !errors.Is(err, ErrMoved) {
			t.Errorf("index %d of %v in period %d was written: %v", c.index, c.id, c.period, err)
		}
	}
	for e := range s.All() {
		if e.Account.Spent != units.Mu2(10+int(e.ID[0])) {
			t.Errorf("%+v was changed", e)
		}
	}
}
