package accounting_test

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// state is what can be stored and resumed: a pointer.
type state interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// resting is a type of state: made with nothing spent, and used.
type resting struct {
	fresh func() state
	use   func(state)
}

// restingOf has the state of a value that fresh makes and use spends from.
func restingOf[S state](fresh func() S, use func(S) error) resting {
	return resting{func() state { return fresh() }, func(s state) { must.Have(0, use(s.(S))) }}
}

func restingStates() map[string]resting {
	half := loss.ZCDP{Rho: 0.25, Delta: 1e-7}
	budget := must.Have(accounting.NewApproxZCDP(0.5, 1e-6))
	list := map[string]resting{
		"odometer": restingOf(func() *accounting.Odometer[loss.ZCDP, loss.Approx] {
			return must.Have(accounting.NewConcentratedOdometer(1e-6, 0.5))
		}, func(o *accounting.Odometer[loss.ZCDP, loss.Approx]) error { return o.Record(loss.ZCDP{Rho: 0.25}) }),
		"tracker": restingOf(func() *accounting.Tracker[loss.ZCDP] { return accounting.NewTracker(budget) },
			func(o *accounting.Tracker[loss.ZCDP]) error { return o.Record(half) }),
		"reserver": restingOf(func() *accounting.Reserver[loss.ZCDP] {
			return must.Have(accounting.NewUnified(0.5,
				1e-6))
		},
			func(r *accounting.Reserver[loss.ZCDP]) error { return r.Reserve(half) }),
		"users": restingOf(func() *accounting.PerUser[string, loss.ZCDP] {
			return must.Have(accounting.NewPerUser[string](accounting.ForGood, budget))
		}, func(u *accounting.PerUser[string, loss.ZCDP]) error {
			return second(u.Round(all([]pair[loss.ZCDP]{{"ann", half}, {"bob", loss.ZCDP{Rho: 9}}, {"", loss.ZCDP{}}})))
		}),
		"linear queries": restingOf(func() *accounting.LinearQueries[[4]byte] {
			return must.Have(accounting.NewLinearQueries[[4]byte](25, 0.5, accounting.ForRound, noNoise))
		}, func(q *accounting.LinearQueries[[4]byte]) error {
			return second(q.Answer(2, func(yield func([4]byte, []int64) bool) {
				_ = yield([4]byte{1}, []int64{3, -1}) && yield([4]byte{2}, []int64{9, 9})
			}))
		}),
	}
	for name, f := range map[string]*accounting.Filter[loss.Approx]{
		"basic":    must.Have(accounting.NewBasic(loss.Approx{Epsilon: 1, Delta: 1e-6})),
		"advanced": must.Have(accounting.NewAdvanced(loss.Approx{Epsilon: 1, Delta: 1e-6})),
	} {
		list[name] = restingOf(f.Fresh, func(f *accounting.Filter[loss.Approx]) error {
			return f.Spend(loss.Approx{Epsilon: 0.01, Delta: 1e-9})
		})
	}
	return list
}

// A state is restored unchanged, even by gob. Damage is refused with a *accounts.DecodeError or
// gives another state that has one form; either way a used value is never overwritten. JSON is an
// error.
func TestStatesAtRest(t *testing.T) {
	for name, s := range restingStates() {
		used := s.fresh()
		s.use(used)
		b := must.Have(used.MarshalBinary())
		fresh := must.Have(s.fresh().MarshalBinary())
		if bytes.Equal(b, fresh) {
			t.Errorf("%s: the state does not show what was spent", name)
		}
		for _, from := range [][]byte{fresh, b} {
			into := s.fresh()
			if err := into.UnmarshalBinary(from); err != nil || !bytes.Equal(must.Have(into.MarshalBinary()), from) {
				t.Errorf("%s: %x came back as %x, %v", name, from, must.Have(into.MarshalBinary()), err)
			}
			if err := used.UnmarshalBinary(from); err == nil || !bytes.Equal(must.Have(used.MarshalBinary()), b) {
				t.Errorf("%s: a state was read over one that was used", name)
			}
		}
		refused := [][]byte{append(bytes.Clone(b), 0), append(bytes.Clone(b), b...)}
		for n := range b {
			if n < len(fresh) || len(b) == len(fresh) {
				refused = append(refused, b[:n])
			}
		}
		for _, d := range refused {
			into := s.fresh()
			var out *accounts.DecodeError
			if err := into.UnmarshalBinary(d); !errors.As(err, &out) || !bytes.Equal(must.Have(into.MarshalBinary()),
				fresh) {
				t.Errorf("%s: %x was read: %v", name, d, err)
			}
		}
		for i := range b {
			for _, mask := range []byte{1, 0x80, 0xff} {
				d := bytes.Clone(b)
				d[i] ^= mask
				into := s.fresh()
				if into.UnmarshalBinary(d) == nil && !bytes.Equal(must.Have(into.MarshalBinary()), d) {
					t.Errorf("%s: %x was read as %x", name, d, must.Have(into.MarshalBinary()))
				}
			}
		}
		var out bytes.Buffer
		must.Have(0, gob.NewEncoder(&out).Encode(used))
		into := s.fresh()
		if err := gob.NewDecoder(&out).Decode(into); err != nil || !bytes.Equal(must.Have(into.MarshalBinary()), b) {
			t.Errorf("%s: by gob %v", name, err)
		}
		for _, held := range []any{used, reflect.ValueOf(used).Elem().Interface()} {
			if text, err := json.Marshal(held); err == nil {
				t.Errorf("%s: JSON %s", name, text)
			}
		}
		if json.Unmarshal([]byte("{}"), into) == nil {
			t.Errorf("%s: JSON was read", name)
		}
	}
}

// A state is read only into a value of the same rule and parameters.
func TestStatesOfOthersAreRefused(t *testing.T) {
	orders := []float64{2, 8}
	states := []state{
		gdp(1), gdp(2), zcdp(1), must.Have(accounting.NewApproxZCDP(1, 1e-6)), &must.Have(accounting.NewUnified(1,
			0)).Filter,
		must.Have(accounting.NewBasic(loss.Approx{Epsilon: 1})),
		must.Have(accounting.NewAdvanced(loss.Approx{Epsilon: 1, Delta: 1e-6})),
		must.Have(accounting.NewAdvanced(loss.Approx{Epsilon: 2, Delta: 1e-6})),
		must.Have(accounting.NewRenyi(renyi(2, 8)(numbers{1, 1}))), must.Have(accounting.NewRenyi(renyi(2,
			9)(numbers{1, 1}))),
		must.Have(accounting.NewBasicOdometer(1e-6)), must.Have(accounting.NewBasicOdometer(1e-7)),
		must.Have(accounting.NewAdvancedOdometer(1e-6, 2)), must.Have(accounting.NewAdvancedOdometer(1e-6, 3)),
		must.Have(accounting.NewConcentratedOdometer(1e-6, 1)), must.Have(accounting.NewConcentratedOdometer(1e-6, 2)),
		must.Have(accounting.NewRenyiOdometer(1e-6, orders)), must.Have(accounting.NewRenyiTotal(orders)),
		accounting.NewGaussianTotal(), accounting.NewZCDPTotal(),
		accounting.NewTracker(gdp(1)), accounting.NewTracker(gdp(2)),
		must.Have(accounting.NewPerUser[string](accounting.ForRound, gdp(1))),
		must.Have(accounting.NewPerUser[string](accounting.ForGood, gdp(1))),
		must.Have(accounting.NewPerUser[string](accounting.ForRound, gdp(2))),
		must.Have(accounting.NewLinearQueries[string](25, 0.5, accounting.ForRound, noNoise)),
		must.Have(accounting.NewLinearQueries[string](25, 1, accounting.ForRound, noNoise)),
		must.Have(accounting.NewLinearQueries[string](26, 0.5, accounting.ForRound, noNoise)),
		new(accounting.Filter[loss.GDP]), new(accounting.Odometer[loss.GDP, loss.GDP]),
	}
	for i, from := range states {
		b, err := from.MarshalBinary()
		if made := i < len(states)-2; made != (err == nil) {
			t.Errorf("state %d: %v", i, err)
		}
		for j, into := range states {
			if err := into.UnmarshalBinary(b); (err == nil) != (i == j && i < len(states)-2) {
				t.Errorf("state %d into value %d: %v", i, j, err)
			}
		}
	}
}

// Rounds with a user's losses at any size, stored and resumed between any two.
func TestStoredUsersGoOnExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]accounting.Policy{accounting.ForRound, accounting.ForGood}).Draw(t, "policy")
		fresh := func() *accounting.PerUser[string, loss.GDP] {
			return must.Have(accounting.NewPerUser[string](policy, gdp(1)))
		}
		straight, split := fresh(), fresh()
		for range rapid.IntRange(1, 12).Draw(t, "rounds") {
			if rapid.Bool().Draw(t, "resume") {
				b := must.Have(split.MarshalBinary())
				split = fresh()
				must.Have(0, split.UnmarshalBinary(b))
			}
			var round []pair[loss.GDP]
			for _, user := range rapid.SliceOfN(rapid.StringMatching("[a-c]"), 0, 4).Draw(t, "users") {
				round = append(round, pair[loss.GDP]{user, loss.GDP{Mu: rapid.Float64Range(-0.01, 1.1).Draw(t, "μ")}})
			}
			a, errA := straight.Round(all(round))
			b, errB := split.Round(all(round))
			if !reflect.DeepEqual(a, b) || errors.Is(errA, accounting.ErrTwice) != errors.Is(errB,
				accounting.ErrTwice) {
				t.Fatalf("%v, %v and, resumed, %v, %v", a, errA, b, errB)
			}
			for _, user := range []string{"a", "b", "c"} {
				if straight.Left(user) != split.Left(user) || straight.Spent(user) != split.Spent(user) {
					t.Fatalf("%s: left %v and %v", user, straight.Left(user), split.Left(user))
				}
			}
			if !bytes.Equal(must.Have(straight.MarshalBinary()), must.Have(split.MarshalBinary())) {
				t.Fatal("the states differ")
			}
		}
	})
}

// comesBack stores users that are named by keys of any kind, in any order.
func comesBack[K comparable](t *testing.T, keys ...K) {
	t.Helper()
	f := must.Have(accounting.NewPerUser[K](accounting.ForRound, gdp(1)))
	back := must.Have(accounting.NewPerUser[K](accounting.ForRound, gdp(1)))
	for _, p := range []*accounting.PerUser[K, loss.GDP]{f, back} {
		must.Have(p.Round(func(yield func(K, loss.GDP) bool) {
			for i, k := range keys {
				if !yield(k, loss.GDP{Mu: 0.25}) {
					t.Fatal(i)
				}
			}
		}))
		slices.Reverse(keys)
	}
	b := must.Have(f.MarshalBinary())
	if !bytes.Equal(b, must.Have(back.MarshalBinary())) {
		t.Errorf("%T: the order in which users came is stored", keys[0])
	}
	into := must.Have(accounting.NewPerUser[K](accounting.ForRound, gdp(1)))
	if err := into.UnmarshalBinary(b); err != nil || into.Users() != len(keys) {
		t.Errorf("%T: %d users, %v", keys[0], into.Users(), err)
	}
	for _, k := range keys {
		if into.Left(k) != f.Left(k) {
			t.Errorf("%v has %v left and, resumed, %v", k, f.Left(k), into.Left(k))
		}
	}
	// A user twice, or out of order.
	size := (len(b) - len(must.Have(must.Have(accounting.NewPerUser[K](accounting.ForRound,
		gdp(1))).MarshalBinary()))) /
		len(keys)
	head := len(b) - size*len(keys)
	for name, users := range map[string][]byte{"twice": slices.Concat(b[head:head+size], b[head:head+size]),
		"swapped": slices.Concat(b[head+size:head+2*size], b[head:head+size])} {
		into := must.Have(accounting.NewPerUser[K](accounting.ForRound, gdp(1)))
		if err := into.UnmarshalBinary(append(slices.Clone(b[:head]), users...)); err == nil || into.Users() != 0 {
			t.Errorf("%T: users %s: %v", keys[0], name, err)
		}
	}
}

func TestKeysOfUsersComeBack(t *testing.T) {
	comesBack(t, "a", "b", "\xff", "1")
	comesBack[int64](t, -1, 0, 1<<40)
	comesBack(t, [16]byte{1}, [16]byte{15: 1})
	f := must.Have(accounting.NewPerUser[int](accounting.ForRound, gdp(1)))
	must.Have(f.Round(func(yield func(int, loss.GDP) bool) { yield(1, loss.GDP{Mu: 0.1}) }))
	if b, err := f.MarshalBinary(); err == nil {
		t.Errorf("keys of no fixed size were stored: %x", b)
	}
}

// Any bytes are refused, or read as what they are.
func FuzzStates(f *testing.F) {
	for _, s := range restingStates() {
		used := s.fresh()
		s.use(used)
		f.Add(must.Have(used.MarshalBinary()))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, s := range restingStates() {
			if into := s.fresh(); into.UnmarshalBinary(b) == nil && !bytes.Equal(must.Have(into.MarshalBinary()), b) {
				t.Errorf("%s: %x was read as %x", name, b, must.Have(into.MarshalBinary()))
			}
		}
	})
}
