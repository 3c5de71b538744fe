package individual_test

import (
	"errors"
	"iter"
	"math"
	"math/big"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/bucket"
	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/individual"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// pair is one user with their loss in a round.
type pair[L any] struct {
	user string
	loss L
}

func each[L any](pairs []pair[L]) iter.Seq2[string, L] {
	return func(yield func(string, L) bool) {
		for _, p := range pairs {
			if !yield(p.user, p.loss) {
				return
			}
		}
	}
}

func zcdp(rho float64) filter.Filter[loss.ZCDP] { return must(filter.NewApproxZCDP(rho, 0)) }

func gdp(mu float64) filter.Filter[loss.GDP] { return must(filter.NewGDP(mu)) }

func TestUsersWhoDoNotFitAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		policy individual.Policy
		want   [][]string
	}{
		// b's 0.75 does not fit after 0.5; its 0.25 does, unless it is out for good.
		{individual.ForRound, [][]string{{"a", "b"}, {"a"}, {"a", "b"}, {"a", "b"}, {}}},
		{individual.ForGood, [][]string{{"a", "b"}, {"a"}, {"a"}, {"a"}, {}}},
	} {
		f := must(individual.New[string](c.policy, zcdp(1)))
		for round, b := range []float64{0.5, 0.75, 0.25, 0.25, 0x1p-80} {
			active := must(f.Round(each([]pair[loss.ZCDP]{{"a", loss.ZCDP{Rho: 0.25}}, {"b", loss.ZCDP{Rho: b}}})))
			if !slices.Equal(active.Users, c.want[round]) || active.LeftOut != 2-len(active.Users) || active.Invalid != 0 {
				t.Errorf("policy %d, round %d: %+v, want the users %v", c.policy, round, active, c.want[round])
			}
		}
	}
}

func TestWhatIsLeftIsTold(t *testing.T) {
	for _, policy := range []individual.Policy{individual.ForRound, individual.ForGood} {
		f := must(individual.New[string](policy, zcdp(1)))
		must(f.Round(each([]pair[loss.ZCDP]{{"a", loss.ZCDP{Rho: 0.25}}, {"b", loss.ZCDP{Rho: 2}}})))
		afterRefusal := map[individual.Policy]float64{individual.ForRound: 1, individual.ForGood: 0}[policy]
		for user, want := range map[string]float64{"a": 0.75, "b": afterRefusal, "nobody": 1} {
			if got := f.Left(user); got.Rho != want {
				t.Errorf("policy %d: %s has %v left, want %v", policy, user, got.Rho, want)
			}
		}
		if f.Users() != 2 {
			t.Errorf("%d users, want 2: asking what is left made an account", f.Users())
		}
	}
}

func TestInvalidLossesLeaveOnlyTheirUserOut(t *testing.T) {
	f := must(individual.New[string](individual.ForRound, zcdp(1)))
	active := must(f.Round(each([]pair[loss.ZCDP]{
		{"a", loss.ZCDP{Rho: math.NaN()}}, {"b", loss.ZCDP{Rho: 0.5}}, {"c", loss.ZCDP{Rho: -1}}, {"d", loss.ZCDP{Rho: 2}},
	})))
	if !slices.Equal(active.Users, []string{"b"}) || active.Invalid != 2 || active.LeftOut != 1 {
		t.Errorf("%+v, want b alone, 2 invalid, 1 left out", active)
	}
	if left := f.Left("a"); left.Rho != 1 {
		t.Errorf("an invalid loss was charged: %v left of 1", left.Rho)
	}
}

func TestNoUserIsActiveWhereOneAppearsTwice(t *testing.T) {
	f := must(individual.New[string](individual.ForRound, zcdp(1)))
	l := loss.ZCDP{Rho: 0.25}
	active, err := f.Round(each([]pair[loss.ZCDP]{{"a", l}, {"b", l}, {"a", l}}))
	if !errors.Is(err, individual.ErrTwice) || active.Users != nil {
		t.Errorf("%+v, %v; want ErrTwice and no user", active, err)
	}
	if active = must(f.Round(each([]pair[loss.ZCDP]{{"a", l}, {"b", l}}))); len(active.Users) != 2 {
		t.Errorf("the next round has %+v, want both", active)
	}
	if left := f.Left("a"); left.Rho != 0.5 {
		t.Errorf("%v left after two charges of 0.25 of 1", left.Rho)
	}
}

func TestImpossibleFiltersAreRefused(t *testing.T) {
	var out *units.RangeError
	for name, err := range map[string]error{
		"gdp":  second(individual.NewGDPFor(individual.ForRound, loss.Approx{Epsilon: -1, Delta: 1e-6})),
		"zcdp": second(individual.NewZCDPFor(individual.ForRound, loss.Approx{Epsilon: -1, Delta: 1e-6})),
	} {
		if !errors.As(err, &out) || out.Parameter != "epsilon" {
			t.Errorf("%s, a budget of -1: %v", name, err)
		}
	}
	if _, err := individual.New[string, loss.GDP](individual.ForRound, nil); !errors.Is(err, individual.ErrNoBudget) {
		t.Errorf("no budget: %v", err)
	}
	if _, err := individual.New[string](individual.Policy(2), zcdp(1)); !errors.As(err, &out) || out.Parameter != "policy" {
		t.Errorf("an unknown policy: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// What the theorems rest on: on every path the losses of a user's active rounds add
// up to at most the budget, in exact arithmetic; no user who would fit is left out;
// and a user is active or not for reasons of their own, whichever others are there.
func TestLossesOfActiveRoundsNeverExceedTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		users := []string{"a", "b", "c", "d"}
		removed := rapid.SampledFrom(users).Draw(t, "removed")
		policy := rapid.SampledFrom([]individual.Policy{individual.ForRound, individual.ForGood}).Draw(t, "policy")
		with, without := must(individual.New[string](policy, gdp(1))), must(individual.New[string](policy, gdp(1)))
		spent, out := map[string]*big.Rat{}, map[string]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "rounds") {
			var all, rest []pair[loss.GDP]
			for _, u := range rapid.Permutation(users).Draw(t, "order") {
				if rapid.Bool().Draw(t, "reads") {
					p := pair[loss.GDP]{u, loss.GDP{Mu: rapid.Float64Range(0, 0.7).Draw(t, "mu")}}
					all = append(all, p)
					if u != removed {
						rest = append(rest, p)
					}
				}
			}
			active, others := must(with.Round(each(all))), must(without.Round(each(rest)))
			if mine := slices.DeleteFunc(slices.Clone(active.Users), func(u string) bool { return u == removed }); !slices.Equal(mine, others.Users) {
				t.Fatalf("with %s the others' active set is %v, without %v", removed, mine, others.Users)
			}
			for _, p := range all {
				square := new(big.Rat).SetFloat64(p.loss.Mu)
				square.Mul(square, square)
				if spent[p.user] == nil {
					spent[p.user] = new(big.Rat)
				}
				sum := new(big.Rat).Add(spent[p.user], square)
				if slices.Contains(active.Users, p.user) {
					spent[p.user] = sum
					if sum.Cmp(big.NewRat(1, 1)) > 0 {
						t.Fatalf("%s spent %s of 1", p.user, sum.FloatString(30))
					}
					if out[p.user] {
						t.Fatalf("%s came back although out for good", p.user)
					}
					continue
				}
				f, _ := sum.Float64()
				if !out[p.user] && f < 1-1e-20 {
					t.Fatalf("%s was left out although μ² would be %v of 1", p.user, f)
				}
				out[p.user] = out[p.user] || policy == individual.ForGood
			}
		}
	})
}

// The individual filter is what its filters are: a round's decisions for one user
// are those of a filter of package filter that no other user has.
func TestFilterWorksOverEveryKind(t *testing.T) {
	approx := func(v float64) loss.Approx { return loss.Approx{Epsilon: v, Delta: v * 1e-9} }
	rdp := func(v float64) loss.RDP { return loss.RDP{{Alpha: 2, Epsilon: v}, {Alpha: 16, Epsilon: 4 * v}} }
	plain := func(v float64) loss.ZCDP { return loss.ZCDP{Rho: v} }
	budget := loss.Approx{Epsilon: 1, Delta: 1e-6}
	curve := loss.RDP{{Alpha: 2, Epsilon: 1}, {Alpha: 16, Epsilon: 3}}
	agrees(t, "basic", approx, func() (filter.Filter[loss.Approx], error) { return filter.NewBasic(budget) })
	agrees(t, "advanced", approx, func() (filter.Filter[loss.Approx], error) { return filter.NewAdvanced(budget) })
	agrees(t, "ex-post", approx, func() (filter.Filter[loss.Approx], error) { return filter.NewExPostApprox(budget) })
	agrees(t, "renyi", rdp, func() (filter.Filter[loss.RDP], error) { return filter.NewRenyi(8, 2) })
	agrees(t, "renyi orders", rdp, func() (filter.Filter[loss.RDP], error) { return filter.NewRenyiOrders(curve) })
	agrees(t, "zcdp", plain, func() (filter.Filter[loss.ZCDP], error) { return filter.NewZCDP(budget) })
	agrees(t, "zcdp optimal", plain, func() (filter.Filter[loss.ZCDP], error) { return filter.NewZCDPOptimal(budget) })
	agrees(t, "unified", plain, func() (filter.Filter[loss.ZCDP], error) { return filter.NewUnified(0.5, 0) })
	agrees(t, "gdp", func(v float64) loss.GDP { return loss.GDP{Mu: v} }, func() (filter.Filter[loss.GDP], error) { return filter.NewGDP(1) })

	leaky := func(v float64) loss.ZCDP { return loss.ZCDP{Rho: v, Delta: v * 1e-6} }
	agrees(t, "approximate zcdp bound by rho", leaky, func() (filter.Filter[loss.ZCDP], error) { return filter.NewApproxZCDP(1, 2e-6) })
	agrees(t, "approximate zcdp bound by delta", leaky, func() (filter.Filter[loss.ZCDP], error) { return filter.NewApproxZCDP(2, 1e-6) })
	mixed := func() *filter.Mixed {
		return must(filter.NewMixed(loss.Approx{Epsilon: 4, Delta: 1e-5}, 4e-6, budget))
	}
	agrees(t, "mixed, zcdp part", leaky, func() (filter.Filter[loss.ZCDP], error) { return mixed().Concentrated(), nil })
	agrees(t, "mixed, ex-post part", approx, func() (filter.Filter[loss.Approx], error) { return mixed().ExPost(), nil })
}

// Users of a bucket filter share its gate. The levels of the ladder are far apart,
// so that some losses are rounded up by much.
func TestFilterWorksOverBuckets(t *testing.T) {
	for _, c := range []struct {
		name     string
		sampling float64
		budget   bucket.Budget
	}{
		{"Gaussian", 1, bucket.Budget{Mu: 1, Slack: 1e-8}},
		{"sampled", 0.25, bucket.Budget{Mu: 0.5, Slack: 1e-6}},
	} {
		ladder := must(bucket.NewGeometricLadder(1.5, 1536, 6))
		table := must(bucket.NewTable(must(ladder.Pairs(c.sampling)), bucket.Options{Interval: 0x1p-7, Points: 1 << 12}))
		gate := must(bucket.NewGate(table, c.budget))
		agrees(t, "bucket, "+c.name, func(v float64) bucket.Noise { return must(bucket.NoiseFor(1, v)) },
			func() (filter.Filter[bucket.Noise], error) { return bucket.NewFilter(gate, ladder) })
	}
}

func agrees[L any](t *testing.T, name string, of func(float64) L, fresh func() (filter.Filter[L], error)) {
	t.Helper()
	f := must(individual.New[string](individual.ForRound, must(fresh())))
	alone := must(fresh())
	refused, taken := 0, 0
	for i, v := range []float64{0.01, 0.02, 0.3, 0.01, 0.5, 0.04, 0.2, 0.9, 0.1, 0.05, 0.7, 0.01, 0.4, 0.002, 0.3, 0.001, 3, 0.0001} {
		active := must(f.Round(each([]pair[L]{{"other", of(0.01)}, {"user", of(v)}})))
		err := alone.Spend(of(v))
		if got := slices.Contains(active.Users, "user"); got != (err == nil) {
			t.Errorf("%s, round %d: active %v, where a filter alone says %v", name, i, got, err)
		}
		if err != nil {
			refused++
		} else {
			taken++
		}
		if got, want := f.Left("user"), alone.Left(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s, round %d: left %v, want %v", name, i, got, want)
		}
	}
	if refused == 0 || taken == 0 {
		t.Errorf("%s: %d losses taken, %d refused: nothing was compared", name, taken, refused)
	}
}
