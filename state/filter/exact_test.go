package filter_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/internal/bigmath"
	"github.com/tollgate-dp/tollgate/state/loss"
)

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func ratSquare(x float64) *big.Rat { return new(big.Rat).Mul(rat(x), rat(x)) }

func times(k int, x *big.Rat) *big.Rat { return new(big.Rat).Mul(big.NewRat(int64(k), 1), x) }

// cases are 300 seeded budgets and numbers of releases.
func cases(t testing.TB) (budgets []float64, counts []int) {
	rng := rand.New(runseed.PCG(t, 11, 300))
	for range 300 {
		budgets = append(budgets, math.Exp2(8*rng.Float64()-4))
		counts = append(counts, 1+rng.IntN(2000))
	}
	return budgets, counts
}

// accepted is how many of at most k+1 equal losses a filter takes.
func accepted[L any](f filter.Filter[L], l L, k int) int {
	for i := range k + 1 {
		if f.Spend(l) != nil {
			return i
		}
	}
	return k + 1
}

// TestKLossesOfAKthOfTheBudgetFit: with a budget rounded down to 2^-80 and losses rounded up,
// a single loss of the whole budget was refused in each of these cases.
func TestKLossesOfAKthOfTheBudgetFit(t *testing.T) {
	budgets, counts := cases(t)
	fewer := map[string]int{}
	for i, b := range budgets {
		k := counts[i]
		g := must(loss.GDP{Mu: b}.Split(k))
		z := must(loss.ZCDP{Rho: b, Delta: b / 1000}.Split(k))
		a := must(loss.Approx{Epsilon: b, Delta: b / 1000}.Split(k))
		for name, got := range map[string]int{
			"gdp":              accepted(must(filter.NewGDP(b)), g, k),
			"gdp, all at once": accepted(must(filter.NewGDP(b)), loss.GDP{Mu: b}, 1) + k - 1,
			"zcdp":             accepted(must(filter.NewApproxZCDP(b, b/1000)), z, k),
			"ex-post":          accepted(must(filter.NewExPostApprox(loss.Approx{Epsilon: b, Delta: b / 1000})), a, k),
			"unified":          accepted(must(filter.NewUnified(b, b/1000)), z, k),
			"basic":            accepted(must(filter.NewBasic(loss.Approx{Epsilon: b, Delta: b / 1000})), a, k),
			"renyi":            accepted(must(filter.NewRenyi(8, b)), loss.RDP{{Alpha: 8, Epsilon: a.Epsilon}}, k),
		} {
			if got != k {
				fewer[name]++
			}
		}
	}
	for name, n := range fewer {
		t.Errorf("%s: other than k losses fit in %d of 300 cases", name, n)
	}
}

// TestAFilterDecidesAsTheRealNumbersDo: the float64 next to B/√k, which is above it in
// some cases, fits k times exactly where the sum of the squares is at most B².
func TestAFilterDecidesAsTheRealNumbersDo(t *testing.T) {
	budgets, counts := cases(t)
	above := 0
	for i, b := range budgets {
		k := counts[i]
		mu := b / math.Sqrt(float64(k))
		fit := times(k, ratSquare(mu)).Cmp(ratSquare(b)) <= 0
		if !fit {
			above++
		}
		if got := accepted(must(filter.NewGDP(b)), loss.GDP{Mu: mu}, k); (got >= k) != fit || got < k-1 {
			t.Errorf("B = %v: %d of %d losses of %v fit; that k fit is %v", b, got, k, mu, fit)
		}
		rho := b / float64(k)
		fit = times(k, rat(rho)).Cmp(rat(b)) <= 0
		if got := accepted(must(filter.NewApproxZCDP(b, 0)), loss.ZCDP{Rho: rho}, k); (got >= k) != fit || got < k-1 {
			t.Errorf("ρ = %v: %d of %d losses of %v fit; that k fit is %v", b, got, k, rho, fit)
		}
	}
	t.Logf("k squares of the float64 next to B/√k are more than B² in %d of 300 cases", above)
}

// TestNoAcceptedSequenceExceedsItsBudgetInRationals is about any losses, those below a unit
// of the sums included.
func TestNoAcceptedSequenceExceedsItsBudgetInRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, "mantissa"), rapid.IntRange(-38, 20).Draw(t, "exponent"))
		g, z := must(filter.NewGDP(b)), must(filter.NewApproxZCDP(b, 0))
		squares, rhos := new(big.Rat), new(big.Rat)
		for range rapid.IntRange(1, 40).Draw(t, "losses") {
			mu := drawNumber(t, g.Left().Mu, b)
			if g.Spend(loss.GDP{Mu: mu}) == nil {
				squares.Add(squares, ratSquare(mu))
			} else if mu >= 0x1p-52 && new(big.Rat).Add(squares, ratSquare(mu)).Cmp(ratSquare(b)) <= 0 && squares.Sign() == 0 {
				t.Fatalf("μ = %v is refused by an unused budget of %v", mu, b)
			}
			rho := drawNumber(t, z.Left().Rho, b)
			if z.Spend(loss.ZCDP{Rho: rho}) == nil {
				rhos.Add(rhos, rat(rho))
			}
		}
		if squares.Cmp(ratSquare(b)) > 0 {
			t.Fatalf("Σ μ² = %v is above the square of %v", squares, b)
		}
		if rhos.Cmp(rat(b)) > 0 {
			t.Fatalf("Σ ρ = %v is above %v", rhos, b)
		}
	})
}

// TestABudgetOfAPromiseIsTheGreatest: what is accepted of an (ε, δ) implies it, and a
// relative 2^-58 more does not.
func TestABudgetOfAPromiseIsTheGreatest(t *testing.T) {
	for _, p := range []loss.Approx{{Epsilon: 0.1, Delta: 1e-9}, {Epsilon: 1, Delta: 1e-6}, {Epsilon: 3, Delta: 1e-12}, {Epsilon: 0.01, Delta: 1e-3}} {
		square := must(budgets.LargestSquare(p.Epsilon, p.Delta, budgets.GDP))
		delta := func(x *big.Float) *big.Float { return bigmath.GaussianDelta(x, bigmath.New(p.Epsilon)) }
		more := bigmath.Zero().Mul(square, bigmath.New(1+0x1p-50))
		more.Sub(more, square)
		more.SetMantExp(more, -8)
		more.Add(more, square)
		if delta(square).Cmp(bigmath.New(p.Delta)) > 0 || delta(more).Cmp(bigmath.New(p.Delta)) <= 0 {
			t.Errorf("%v: μ² = %v is not the greatest", p, square)
		}
		mu := must(budgets.ConvertEpsilonDelta(p.Epsilon, p.Delta, budgets.GDP)).Mu
		f := must(filter.NewGDPFor(p))
		if f.Left().Mu != mu {
			t.Errorf("%v: left %v, the greatest μ is %v", p, f.Left().Mu, mu)
		}
		for _, k := range []int{1, 2, 3, 7, 100, 1000} {
			if got := accepted(must(filter.NewGDPFor(p)), must(loss.GDP{Mu: mu}.Split(k)), k); got != k {
				t.Errorf("%v: %d of %d fit", p, got, k)
			}
		}
	}
}
