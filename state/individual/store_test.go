package individual_test

import (
	"bytes"
	"encoding"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/atrest"
	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/individual"
	"github.com/tollgate-dp/tollgate/state/loss"
)

func restingSubjects() []atrest.Subject {
	usual := must(filter.NewGDPFor(loss.Approx{Epsilon: 1, Delta: 1e-6}))
	budget := must(filter.NewApproxZCDP(0.5, 1e-6))
	return []atrest.Subject{
		{
			Name:  "norm",
			Fresh: func() atrest.Value { return must(individual.NewNorm(300)) },
			Zero:  atrest.Zero(new(individual.Norm)),
			Use:   func(v atrest.Value) { must(0, v.(*individual.Norm).Spend(7)) },
		},
		{
			Name:  "filter",
			Fresh: func() atrest.Value { return must(individual.New[string](individual.ForGood, budget)) },
			Use: func(v atrest.Value) {
				f := v.(*individual.Filter[string, loss.ZCDP])
				must(f.Round(each([]pair[loss.ZCDP]{{"ann", loss.ZCDP{Rho: 0.25, Delta: 1e-7}}, {"bob", loss.ZCDP{Rho: 9}}, {"", loss.ZCDP{}}})))
			},
			Sound: func(v atrest.Value) string {
				for _, user := range []string{"ann", "bob", "", "eve"} {
					left, all := v.(*individual.Filter[string, loss.ZCDP]).Left(user), budget.Left()
					if left.Rho > all.Rho || left.Delta > all.Delta {
						return fmt.Sprintf("%q has %v left of %v", user, left, all)
					}
				}
				return ""
			},
		},
		{
			Name:  "filter-gdp",
			Fresh: func() atrest.Value { return must(individual.New[string](individual.ForGood, usual)) },
			Use: func(v atrest.Value) {
				f := v.(*individual.Filter[string, loss.GDP])
				must(f.Round(each([]pair[loss.GDP]{{"ann", loss.GDP{Mu: 0.1}}, {"bob", loss.GDP{Mu: 9}}})))
			},
		},
		{
			Name: "linear-queries",
			Fresh: func() atrest.Value {
				return must(individual.NewLinearQueries[[4]byte](25, 0.5, individual.ForRound, noNoise))
			},
			Use: func(v atrest.Value) {
				must(v.(*individual.LinearQueries[[4]byte]).Answer(2, func(yield func([4]byte, []int64) bool) {
					_ = yield([4]byte{1}, []int64{3, -1}) && yield([4]byte{2}, []int64{9, 9})
				}))
			},
		},
	}
}

func TestStatesAtRest(t *testing.T) {
	for _, s := range restingSubjects() {
		t.Run(s.Name, func(t *testing.T) { atrest.Check(t, s) })
	}
}

func FuzzStates(f *testing.F) { atrest.Fuzz(f, restingSubjects()) }

// Rounds with a user's losses at any size, stored and resumed between any two.
func TestStoredUsersGoOnExactly(t *testing.T) {
	for _, policy := range []individual.Policy{individual.ForRound, individual.ForGood} {
		t.Run(fmt.Sprint(policy), rapid.MakeCheck(func(t *rapid.T) {
			fresh := func() *individual.Filter[string, loss.GDP] { return must(individual.New[string](policy, gdp(1))) }
			straight, split := fresh(), fresh()
			state := func(v encoding.BinaryMarshaler) []byte { return must(v.MarshalBinary()) }
			for range rapid.IntRange(1, 12).Draw(t, "rounds") {
				if rapid.Bool().Draw(t, "resume") {
					next := fresh()
					must(0, next.UnmarshalBinary(state(split)))
					split = next
				}
				var round []pair[loss.GDP]
				for _, user := range rapid.SliceOfN(rapid.StringMatching("[a-c]"), 0, 4).Draw(t, "users") {
					round = append(round, pair[loss.GDP]{user, loss.GDP{Mu: rapid.Float64Range(-0.01, 1.1).Draw(t, "μ")}})
				}
				a, errA := straight.Round(each(round))
				b, errB := split.Round(each(round))
				if !reflect.DeepEqual(a, b) || fmt.Sprint(errA) != fmt.Sprint(errB) {
					t.Fatalf("%v, %v and, resumed, %v, %v", a, errA, b, errB)
				}
				for _, user := range []string{"a", "b", "c"} {
					if straight.Left(user) != split.Left(user) || straight.Spent(user) != split.Spent(user) {
						t.Fatalf("%s: left %v and %v", user, straight.Left(user), split.Left(user))
					}
				}
				if !bytes.Equal(state(straight), state(split)) {
					t.Fatal("the states differ")
				}
			}
		}))
	}
}

func TestStatesOfOthersAreRefused(t *testing.T) {
	f := must(individual.New[string](individual.ForRound, gdp(1)))
	b := must(f.MarshalBinary())
	q := must(individual.NewLinearQueries[string](25, 0.5, individual.ForRound, noNoise))
	for name, c := range map[string]struct {
		into atrest.Value
		b    []byte
		want string
	}{
		"a budget":          {must(individual.New[string](individual.ForRound, gdp(2))), b, "another budget"},
		"a kind of loss":    {must(individual.New[string](individual.ForRound, zcdp(1))), b, "another budget"},
		"a policy":          {must(individual.New[string](individual.ForGood, gdp(1))), b, "another policy"},
		"no users":          {new(individual.Filter[string, loss.GDP]), b, "constructor made"},
		"kappa":             {must(individual.NewLinearQueries[string](25, 1, individual.ForRound, noNoise)), must(q.MarshalBinary()), "another kappa"},
		"norm":              {must(individual.NewLinearQueries[string](26, 0.5, individual.ForRound, noNoise)), must(q.MarshalBinary()), "another budget"},
		"no linear queries": {new(individual.LinearQueries[string]), must(q.MarshalBinary()), "constructor made"},
	} {
		if err := c.into.UnmarshalBinary(c.b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("another %s: %v, want %q", name, err, c.want)
		}
	}
}

// comesBack stores users that are named by keys of any kind.
func comesBack[K comparable](t *testing.T, keys ...K) {
	t.Helper()
	f := must(individual.New[K](individual.ForRound, gdp(1)))
	must(f.Round(func(yield func(K, loss.GDP) bool) {
		for i, k := range keys {
			if !yield(k, loss.GDP{Mu: 0.25 + float64(i)/64}) {
				return
			}
		}
	}))
	b, err := f.MarshalBinary()
	if err != nil {
		t.Errorf("%T: %v", keys[0], err)
		return
	}
	into := must(individual.New[K](individual.ForRound, gdp(1)))
	if err := into.UnmarshalBinary(b); err != nil {
		t.Errorf("%T: %v", keys[0], err)
	}
	for _, k := range keys {
		if into.Left(k) != f.Left(k) {
			t.Errorf("%v has %v left and, resumed, %v", k, f.Left(k), into.Left(k))
		}
	}
}

type number uint16

func (number) String() string { return "the same for all" }

func TestKeysOfUsersComeBack(t *testing.T) {
	comesBack(t, "", "a", "1", "\xff")
	comesBack(t, -1, 0, 1<<40)
	comesBack(t, number(1), number(65535))
	comesBack(t, [16]byte{1}, [16]byte{15: 1})
	comesBack(t, netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::1"))

	type cannot struct{ a, b int }
	f := must(individual.New[cannot](individual.ForRound, gdp(1)))
	must(f.Round(func(yield func(cannot, loss.GDP) bool) { yield(cannot{1, 2}, loss.GDP{Mu: 0.1}) }))
	if _, err := f.MarshalBinary(); err == nil || !strings.Contains(err.Error(), "no string, integer or array of bytes") {
		t.Errorf("%v", err)
	}
}

// Users are in the order of their keys, so that equal accounts have equal bytes; another
// order and a user twice are refused.
func TestUsersHaveOneOrder(t *testing.T) {
	one := []pair[loss.GDP]{{"a", loss.GDP{Mu: 0.5}}, {"b", loss.GDP{Mu: 0.5}}}
	two := slices.Clone(one)
	slices.Reverse(two)
	f, g := must(individual.New[string](individual.ForRound, gdp(1))), must(individual.New[string](individual.ForRound, gdp(1)))
	must(f.Round(each(one)))
	must(g.Round(each(two)))
	b := must(f.MarshalBinary())
	if !bytes.Equal(b, must(g.MarshalBinary())) {
		t.Error("the order in which users came is stored")
	}
	name := []byte{0, 0, 0, 1}
	for key, want := range map[string]string{"ba": "one form", "aa": "twice"} {
		swapped := bytes.Clone(b)
		for i, was := range []byte("ab") {
			at := bytes.Index(b, append(slices.Clone(name), was))
			swapped[at+4] = key[i]
		}
		fresh := must(individual.New[string](individual.ForRound, gdp(1)))
		if err := fresh.UnmarshalBinary(swapped); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("users %s: %v, want %q", key, err, want)
		}
	}
}

func TestSpentOfAUser(t *testing.T) {
	f := must(individual.New[string](individual.ForGood, zcdp(1)))
	must(f.Round(each([]pair[loss.ZCDP]{{"a", loss.ZCDP{Rho: 0.25}}, {"b", loss.ZCDP{Rho: 0.75}}})))
	must(f.Round(each([]pair[loss.ZCDP]{{"a", loss.ZCDP{Rho: 0.25}}, {"b", loss.ZCDP{Rho: 0.75}}})))
	if f.Spent("a").Rho != 0.5 || f.Spent("b").Rho != 0.75 || f.Spent("eve").Rho != 0 || f.Budget().Rho != 1 {
		t.Errorf("a %v, b %v, eve %v of %v", f.Spent("a"), f.Spent("b"), f.Spent("eve"), f.Budget())
	}
	q := must(individual.NewLinearQueries[string](25, 0.5, individual.ForRound, noNoise))
	must(q.Answer(1, func(yield func(string, []int64) bool) { yield("a", []int64{3}) }))
	if q.Spent("a") != 9 || q.Left("a") != 16 || q.Budget() != 25 {
		t.Errorf("%v spent, %v left of %v", q.Spent("a"), q.Left("a"), q.Budget())
	}
}
