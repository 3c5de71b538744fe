package accounting_test

import (
	"errors"
	"iter"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// pair is one user with their loss in a round.
type pair[L any] struct {
	user string
	loss L
}

func all[L any](pairs []pair[L]) iter.Seq2[string, L] {
	return func(yield func(string, L) bool) {
		for _, p := range pairs {
			if !yield(p.user, p.loss) {
				return
			}
		}
	}
}

func zcdp(rho float64) *accounting.Filter[loss.ZCDP] {
	return must.Have(accounting.NewApproxZCDP(rho, 0))
}

func gdp(mu float64) *accounting.Filter[loss.GDP] { return must.Have(accounting.NewGaussian(mu)) }

func TestUsersWhoDoNotFitAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		policy     accounting.Policy
		want       [][]string
		left, paid float64 // user "b"
	}{
		// b's 0.75 does not fit after 0.5; its 0.25 does, unless it is out for good.
		{accounting.ForRound, [][]string{{"a", "b"}, {"a"}, {"a", "b"}, {"a", "b"}, {}}, 0, 1},
		{accounting.ForGood, [][]string{{"a", "b"}, {"a"}, {"a"}, {"a"}, {}}, 0, 0.5},
	} {
		f := must.Have(accounting.NewPerUser[string](c.policy, zcdp(1)))
		for round, b := range []float64{0.5, 0.75, 0.25, 0.25, 0x1p-80} {
			active := must.Have(f.Round(all([]pair[loss.ZCDP]{{"a", loss.ZCDP{Rho: 0.25}}, {"b", loss.ZCDP{Rho: b}}})))
			if !slices.Equal(active.Users, c.want[round]) || active.LeftOut != 2-len(active.Users) ||
				active.Invalid != 0 {
				t.Errorf("policy %d, round %d: %+v, want the users %v", c.policy, round, active, c.want[round])
			}
		}
		if f.Left("b").Rho != c.left || f.Spent("b").Rho != c.paid || f.Left("eve").Rho != 1 ||
			f.Spent("eve").Rho != 0 || f.Budget().Rho != 1 || f.Users() != 2 {
			t.Errorf("policy %d: b has %v left and spent %v, eve %v and %v of %v; %d users", c.policy,
				f.Left("b"), f.Spent("b"), f.Left("eve"), f.Spent("eve"), f.Budget(), f.Users())
		}
	}
	_, err := accounting.NewPerUser[string](accounting.Policy(2), zcdp(1))
	named(t, "an unknown policy", err, "policy")
	for _, budget := range []*accounting.Filter[loss.ZCDP]{nil, {}} {
		if _, err := accounting.NewPerUser[string](accounting.ForRound, budget); !errors.Is(err,
			accounting.ErrNoBudget) {
			t.Errorf("no budget: %v", err)
		}
	}
}

func TestInvalidLossesLeaveOnlyTheirUserOut(t *testing.T) {
	f := must.Have(accounting.NewPerUser[string](accounting.ForRound, zcdp(1)))
	active := must.Have(f.Round(all([]pair[loss.ZCDP]{
		{"a", loss.ZCDP{Rho: math.NaN()}}, {"b", loss.ZCDP{Rho: 0.5}}, {"c", loss.ZCDP{Rho: -1}},
		{"d", loss.ZCDP{Rho: 2}},
	})))
	if !slices.Equal(active.Users, []string{"b"}) || active.Invalid != 2 || active.LeftOut != 1 {
		t.Errorf("%+v, want b alone, 2 invalid, 1 left out", active)
	}
	if left := f.Left("a"); left.Rho != 1 {
		t.Errorf("an invalid loss was charged: %v left of 1", left.Rho)
	}
}

func TestNoUserIsActiveIfOneAppearsTwice(t *testing.T) {
	f := must.Have(accounting.NewPerUser[string](accounting.ForRound, zcdp(1)))
	l := loss.ZCDP{Rho: 0.25}
	active, err := f.Round(all([]pair[loss.ZCDP]{{"a", l}, {"b", l}, {"a", l}}))
	if !errors.Is(err, accounting.ErrTwice) || active.Users != nil {
		t.Errorf("%+v, %v; want ErrTwice and no user", active, err)
	}
	if active = must.Have(f.Round(all([]pair[loss.ZCDP]{{"a", l}, {"b", l}}))); len(active.Users) != 2 {
		t.Errorf("the next round has %+v, want both", active)
	}
	if left := f.Left("a"); left.Rho != 0.5 {
		t.Errorf("%v left after two charges of 0.25 of 1", left.Rho)
	}
}

// The premise of the theorems: on every path the losses of a user's active rounds add up to at most
// the budget, in exact arithmetic; no user who would fit is left out; and a user is active or not
// for reasons of their own, whichever others are there.
func TestLossesOfActiveRoundsNeverExceedTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		users := []string{"a", "b", "c", "d"}
		removed := rapid.SampledFrom(users).Draw(t, "removed")
		policy := rapid.SampledFrom([]accounting.Policy{accounting.ForRound, accounting.ForGood}).Draw(t, "policy")
		with, without := must.Have(accounting.NewPerUser[string](policy, gdp(1))),
			must.Have(accounting.NewPerUser[string](policy,
				gdp(1)))
		spent, out := map[string]*big.Rat{}, map[string]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "rounds") {
			var everybody, rest []pair[loss.GDP]
			for _, u := range rapid.Permutation(users).Draw(t, "order") {
				if rapid.Bool().Draw(t, "reads") {
					p := pair[loss.GDP]{u, loss.GDP{Mu: rapid.Float64Range(0, 0.7).Draw(t, "mu")}}
					everybody = append(everybody, p)
					if u != removed {
						rest = append(rest, p)
					}
				}
			}
			active, others := must.Have(with.Round(all(everybody))), must.Have(without.Round(all(rest)))
			if mine := slices.DeleteFunc(slices.Clone(active.Users), func(u string) bool {
				return u == removed
			}); !slices.Equal(mine, others.Users) {
				t.Fatalf("with %s the others' active set is %v, without %v", removed, mine, others.Users)
			}
			for _, p := range everybody {
				if spent[p.user] == nil {
					spent[p.user] = new(big.Rat)
				}
				sum := new(big.Rat).Add(spent[p.user], ratSquare(p.loss.Mu))
				if slices.Contains(active.Users, p.user) {
					spent[p.user] = sum
					if sum.Cmp(big.NewRat(1, 1)) > 0 || out[p.user] {
						t.Fatalf("%s spent %s of 1, or came back although out for good", p.user, sum.FloatString(30))
					}
					continue
				}
				f, _ := sum.Float64()
				if !out[p.user] && f < 1-1e-20 {
					t.Fatalf("%s was left out although μ² would be %v of 1", p.user, f)
				}
				out[p.user] = out[p.user] || policy == accounting.ForGood
			}
		}
	})
}
