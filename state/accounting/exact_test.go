package accounting_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func ratSquare(x float64) *big.Rat { return new(big.Rat).Mul(rat(x), rat(x)) }

// count returns how many of at most k+1 equal losses a filter accepts; k < 0: without a limit.
func count[L any](f *accounting.Filter[L], l L, k int) int {
	n := 0
	for n != k+1 {
		err := f.Spend(l)
		if errors.Is(err, accounting.ErrExceeded) {
			return n
		}
		must.Have(0, err)
		n++
	}
	return n
}

// Losses that are a k-th of the budget, rounded down, fit k times. The float64 next to B/√k or B/k,
// which is above it in some cases, fits k times exactly if the real sum is at most the budget.
func TestAFilterDecidesAsTheRealNumbersDo(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 11, 300))
	for range 300 {
		b, k := math.Exp2(8*rng.Float64()-4), 1+rng.IntN(2000)
		g := must.Have(loss.GDP{Mu: b}.Split(k))
		z := must.Have(loss.ZCDP{Rho: b, Delta: b / 1000}.Split(k))
		a := must.Have(loss.Approx{Epsilon: b, Delta: b / 1000}.Split(k))
		for name, got := range map[string]int{
			"gdp":   count(must.Have(accounting.NewGaussian(b)), g, k),
			"zcdp":  count(must.Have(accounting.NewApproxZCDP(b, b/1000)), z, k),
			"basic": count(must.Have(accounting.NewBasic(loss.Approx{Epsilon: b, Delta: b / 1000})), a, k),
			"renyi": count(must.Have(accounting.NewRenyi(renyi(8)(numbers{b}))), renyi(8)(numbers{a.Epsilon}), k),
			"whole": count(must.Have(accounting.NewGaussian(b)), loss.GDP{Mu: b}, 1) + k - 1,
		} {
			if got != k {
				t.Errorf("%s: %d of %d parts of %v fit", name, got, k, b)
			}
		}
		mu, rho, times := b/math.Sqrt(float64(k)), b/float64(k), big.NewRat(int64(k), 1)
		fit := new(big.Rat).Mul(times, ratSquare(mu)).Cmp(ratSquare(b)) <= 0
		if got := count(must.Have(accounting.NewGaussian(b)), loss.GDP{Mu: mu}, k); (got >= k) != fit || got < k-1 {
			t.Errorf("B = %v: %d of %d losses of %v fit; that k fit is %v", b, got, k, mu, fit)
		}
		fit = new(big.Rat).Mul(times, rat(rho)).Cmp(rat(b)) <= 0
		if got := count(must.Have(accounting.NewApproxZCDP(b, 0)), loss.ZCDP{Rho: rho},
			k); (got >= k) != fit || got < k-1 {
			t.Errorf("ρ = %v: %d of %d losses of %v fit; that k fit is %v", b, got, k, rho, fit)
		}
	}
}

// The μ² of package budgets implies (ε, δ), a relative 2^-58 more does not, and the filter has the
// first.
func TestTheBudgetOfAPromiseIsTheGreatest(t *testing.T) {
	tried := 0
	for _, epsilon := range []float64{1e-9, 1e-3, 0.3, 1, 10, 1e3, 1e6} {
		for _, delta := range []float64{1e-300, 1e-30, 1e-6, 0.1, 0.9} {
			p := loss.Approx{Epsilon: epsilon, Delta: delta}
			square, err := budgets.LargestSquare(epsilon, delta, budgets.GDP)
			if err != nil {
				continue // no μ between MinMu and MaxMu
			}
			tried++
			implied := impliesGaussian(p)
			more := bigmath.Zero().Add(square, bigmath.Zero().SetMantExp(square, -58))
			if !implied([]*big.Float{square}) || implied([]*big.Float{more}) && square.Cmp(least) > 0 {
				t.Errorf("%v: μ² = %v is not the greatest", p, square)
			}
			f, err := accounting.NewGaussianFor(p)
			if err != nil {
				continue // below a μ of 2^-40
			}
			if mu := must.Have(budgets.ConvertEpsilonDelta(epsilon, delta, budgets.GDP)).Mu; f.Left().Mu != mu {
				t.Errorf("%v: left %v, the greatest μ is %v", p, f.Left().Mu, mu)
			}
		}
	}
	if tried < 25 {
		t.Errorf("only %d promises were tried", tried)
	}
}

// promises draws (ε, δ) over the whole range of the advanced filter.
func promises(t *rapid.T) loss.Approx {
	return loss.Approx{
		Epsilon: math.Exp2(rapid.Float64Range(-20, 7).Draw(t, "log2 epsilon")),
		Delta:   math.Pow(10, rapid.Float64Range(-199, -0.44).Draw(t, "log10 delta")),
	}
}

// The advanced filter reaches (1 − 1e-11)·ε of its theorem, where four losses rounded up to units
// of 2^-80 do not matter (relative to ε², they are below 1e-20). The zCDP filter takes the same
// losses: for pure mechanisms it is tighter (Feldman and Zrnic, after Theorem 4.9).
func TestTheAdvancedRuleIsTheTheoremsToElevenDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := promises(t)
		f, z := must.Have(accounting.NewAdvanced(p)), must.Have(accounting.NewZCDP(p))
		sum, squares := exact(0), exact(0)
		spend := func(part float64) {
			l := loss.Approx{Epsilon: f.Left().Epsilon * part}
			if err := f.Spend(l); err != nil {
				t.Fatalf("%v of what is left: %v", part, err)
			}
			if err := z.Spend(loss.ZCDP{Rho: l.Epsilon * l.Epsilon / 2}); err != nil {
				t.Fatalf("the zCDP filter refuses %v of %v: %v", l, p, err)
			}
			sum.Add(sum, excess(l.Epsilon))
			squares.Add(squares, square(l.Epsilon))
		}
		for range rapid.IntRange(0, 3).Draw(t, "before") {
			spend(rapid.Float64Range(0, 1).Draw(t, "part"))
		}
		spend(1)
		bound := advancedEpsilon(p, sum, squares)
		slack := 1e-11 + 1e-20/(p.Epsilon*p.Epsilon)
		least := bigmath.Zero().Mul(bigmath.New(p.Epsilon), bigmath.New(1-slack))
		if bound.Cmp(bigmath.New(p.Epsilon)) > 0 || bound.Cmp(least) < 0 {
			t.Fatalf("accepted up to %v of %v", bound, p)
		}
		if spent := f.Spent().Epsilon; bigmath.New(spent).Cmp(bound) < 0 || spent > p.Epsilon {
			t.Fatalf("spent %v, by the theorem %v", spent, bound)
		}
	})
}

// Losses with a δ fit budgets of the smallest δ that a sum distinguishes from 0; half of it is
// theirs.
func TestAdvancedTakesSmallDeltas(t *testing.T) {
	for exponent, fits := range map[int]bool{-90: true, -200: true, -207: true, -208: false, -900: false} {
		delta := math.Ldexp(1, exponent)
		f := must.Have(accounting.NewAdvanced(loss.Approx{Epsilon: 1, Delta: delta}))
		if got := f.Fits(loss.Approx{Epsilon: 1e-6, Delta: delta / 2}); got != fits ||
			f.Fits(loss.Approx{Delta: delta}) {
			t.Errorf("δ = 2^%d: a loss of half of it fits: %v, want %v; and all of it must not", exponent, got, fits)
		}
	}
}

// A budget between two units is rounded down: one loss of a unit fits, two would be beyond. The
// largest budget refuses what overflows.
func TestBudgetsAtTheEndsOfTheirRange(t *testing.T) {
	const unit = 0x1p-80
	largest := math.Nextafter(0x1p48, 0)
	basic := func(epsilon, delta float64) *accounting.Filter[loss.Approx] {
		return must.Have(accounting.NewBasic(loss.Approx{Epsilon: epsilon, Delta: delta}))
	}
	for name, got := range map[string]int{
		"epsilon": count(basic(1.5*unit, 0.5), loss.Approx{Epsilon: unit}, 2),
		"delta":   count(basic(1, 1.5*unit), loss.Approx{Delta: unit}, 2),
		"mu":      count(must.Have(accounting.NewGaussian(1.25*0x1p-40)), loss.GDP{Mu: 0x1p-40}, 2),
		"largest": count(basic(largest, 0), loss.Approx{Epsilon: largest}, 2),
	} {
		if got != 1 {
			t.Errorf("%s: %d losses fit, want 1", name, got)
		}
	}
}

// TestImpossibleBudgetsAreNamed gives every constructor numbers out of its range.
func TestImpossibleBudgetsAreNamed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	p := func(epsilon, delta float64) loss.Approx { return loss.Approx{Epsilon: epsilon, Delta: delta} }
	wild := []float64{nan, inf, -inf, -1, 0, math.SmallestNonzeroFloat64, 0x1p48, math.MaxFloat64}
	deltas := []float64{nan, inf, -1, 1, 2, math.SmallestNonzeroFloat64}
	for _, c := range []struct {
		parameter string
		make      func(v float64) error
		values    []float64
	}{
		{"epsilon", func(v float64) error { return second(accounting.NewBasic(p(v, 0))) }, wild},
		{"delta", func(v float64) error { return second(accounting.NewBasic(p(1, v))) }, deltas},
		{"epsilon", func(v float64) error { return second(accounting.NewAdvanced(p(v, 1e-6))) }, wild},
		{"delta", func(v float64) error { return second(accounting.NewAdvanced(p(1, v))) },
			append(deltas, 0, 1/math.E)},
		{"epsilon", func(v float64) error { return second(accounting.NewRenyi(renyi(2, 3)(numbers{1, v}))) }, wild},
		{"alpha", func(v float64) error { return second(accounting.NewRenyi(renyi(v)(numbers{1}))) },
			[]float64{nan, inf, 1, 0.5, -2}},
		{"epsilon", func(v float64) error { return second(accounting.NewZCDP(p(v, 1e-6))) }, wild},
		{"delta", func(v float64) error { return second(accounting.NewZCDP(p(1, v))) }, append(deltas, 0)},
		{"rho", func(v float64) error { return second(accounting.NewZCDP(p(v, 1e-300))) }, []float64{1e-12}},
		{"rho", func(v float64) error { return second(accounting.NewApproxZCDP(v, 0)) }, wild},
		{"delta", func(v float64) error { return second(accounting.NewApproxZCDP(1, v)) }, deltas},
		{"epsilon", func(v float64) error { return second(accounting.NewApproxZCDPFor(p(v, 1e-6), 0)) }, wild},
		{"approximate", func(v float64) error { return second(accounting.NewApproxZCDPFor(p(1, 1e-6), v)) },
			[]float64{nan, -1, 1e-6, 1, inf}},
		{"delta", func(v float64) error { return second(accounting.NewApproxZCDPFor(p(1, 1e-6), v)) },
			[]float64{1e-30}},
		{"mu", func(v float64) error { return second(accounting.NewGaussian(v)) }, append(wild, 0x1p24)},
		{"epsilon", func(v float64) error { return second(accounting.NewGaussianFor(p(v, 1e-6))) }, []float64{nan, inf,
			-1,
			0x1p48}},
		{"delta", func(v float64) error { return second(accounting.NewGaussianFor(p(1, v))) }, append(deltas, 0)},
		{"epsilon", func(v float64) error { return second(accounting.NewExPost(p(v, 0))) }, wild},
		{"epsilon", func(v float64) error { return second(accounting.NewMixed(p(1, 1e-6), 0, p(v, 0))) }, wild},
		{"delta", func(v float64) error { return second(accounting.NewMixed(p(1, v), 0, p(1, 0.5))) },
			append(deltas, 0, 0.6)},
		{"rho", func(v float64) error { return second(accounting.NewUnified(v, 0)) }, wild},
		{"epsilon", func(v float64) error { return second(accounting.NewUnifiedFor(p(v, 1e-6), 0)) }, wild},
		{"norm", func(v float64) error { return second(accounting.NewNorm(accounting.SquaredNorm(v))) }, []float64{0}},

		{"delta", func(v float64) error { return second(accounting.NewBasicOdometer(v)) }, []float64{nan, inf, -1, 1,
			2}},
		{"delta", func(v float64) error { return second(accounting.NewAdvancedOdometer(v, 100)) },
			append(deltas, 0, 0.37, 1e-301)},
		{"n", func(v float64) error { return second(accounting.NewAdvancedOdometer(1e-6, uint64(v))) },
			[]float64{0, 1}},
		{"delta", func(v float64) error { return second(accounting.NewConcentratedOdometer(v, 1)) }, append(deltas, 0)},
		{"rho", func(v float64) error { return second(accounting.NewConcentratedOdometer(1e-6, v)) },
			[]float64{nan, inf, -1, 0, 0x1p41, 0x1p-41}},
		{"delta", func(v float64) error { return second(accounting.NewRenyiOdometer(v, []float64{2})) },
			append(deltas, 0)},
		{"alpha", func(v float64) error { return second(accounting.NewRenyiOdometer(1e-6, []float64{3, v})) },
			[]float64{nan, inf, 2, 3}},
		{"alpha", func(v float64) error { return second(accounting.NewRenyiTotal([]float64{v})) },
			[]float64{nan, inf, 1}},
		{"orders", func(float64) error { return second(accounting.NewRenyiTotal(nil)) }, []float64{0}},
		{"delta", func(v float64) error { return second(accounting.NewMixture(v, 1)) }, append(deltas, 0)},
		{"p", func(v float64) error { return second(accounting.NewMixture(1e-6, v)) }, []float64{nan, inf, -1, 0,
			0x1p201, 0x1p-201}},
		{"delta", func(v float64) error { return second(accounting.NewMixtureFor(v, 1)) }, append(deltas, 0)},
		{"variance", func(v float64) error { return second(accounting.NewMixtureFor(1e-6, v)) }, []float64{nan, inf, -1,
			0, 0x1p151, 0x1p-151}},
		{"sensitivity", func(v float64) error { return second(must.Have(accounting.NewMixture(1e-6, 1)).At(v, 1)) },
			[]float64{nan, inf, -1, 0x1p101, 0x1p-101}},
		{"variance", func(v float64) error { return second(must.Have(accounting.NewMixture(1e-6, 1)).At(1, v)) },
			[]float64{nan, inf, -1, 0x1p201, 0x1p-201}},
		{"delta", func(v float64) error { return second(accounting.Mixture{}.At(1, v)) }, []float64{1}},
		{"epsilon", func(v float64) error { return second(accounting.PointWise(p(1, 0.1), v)) }, []float64{nan, inf, -1,
			0, 1, 1.05}},
		{"delta", func(v float64) error { return second(accounting.PointWise(p(1, v), 2)) }, []float64{nan, inf, -1,
			1}},
	} {
		for _, v := range c.values {
			named(t, c.parameter, c.make(v), c.parameter)
		}
	}
	largest := math.Nextafter(1/math.E, 0) // 0.36787944117144227…, 1/e = 0.36787944117144232…
	if err := errors.Join(second(accounting.NewAdvanced(p(1, largest))), second(accounting.NewAdvancedOdometer(largest,
		2))); err != nil {
		t.Errorf("δ = %v is below 1/e: %v", largest, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestALossOfAnotherKindIsNamed(t *testing.T) {
	z, o := must.Have(accounting.NewZCDP(loss.Approx{Epsilon: 1, Delta: 1e-6})),
		must.Have(accounting.NewConcentratedOdometer(1e-6, 1))
	named(t, "approximate zCDP", z.Spend(loss.ZCDP{Rho: 1e-6, Delta: 1e-9}), "delta")
	named(t, "approximate zCDP", o.Record(loss.ZCDP{Rho: 1e-6, Delta: 1e-9}), "delta")
	f, total := must.Have(accounting.NewRenyi(renyi(2, 8)(numbers{1, 1}))),
		must.Have(accounting.NewRenyiTotal([]float64{2, 8}))
	for _, take := range []func(loss.RDP) error{f.Spend, total.Record} {
		named(t, "lower orders only", take(renyi(2, 7.9)(numbers{0.1, 0.1})), "alpha")
		named(t, "no orders", take(nil), "orders")
		named(t, "falling orders", take(renyi(8, 2)(numbers{0, 0})), "alpha")
	}
	if err := f.Spend(renyi(8)(numbers{math.Inf(1)})); !errors.Is(err, accounting.ErrExceeded) {
		t.Errorf("nothing known at the order: %v", err)
	}
}

// μ² of accounts goes into a filter and through a μ as a correctly rounded number: a filter accepts
// what an account accepts, and a μ there and back is charged at most one unit more.
func TestRuleSquaresOfAccountsConvertExactly(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 12, 2000))
	unit := big.NewRat(1, 1<<units.Mu2Bits)
	for range 2000 {
		square := units.Mu2(1 + rng.Uint64()>>rng.IntN(64)>>1)
		exact := new(big.Rat).Mul(new(big.Rat).SetInt(new(big.Int).SetUint64(uint64(square))), unit)
		g := loss.GDPOfSquare(square)
		if ratSquare(g.Mu).Cmp(exact) < 0 || ratSquare(math.Nextafter(g.Mu, 0)).Cmp(exact) >= 0 {
			t.Fatalf("%d units: μ = %v is not the least", square, g.Mu)
		}
		back, ok := g.Square()
		charged := new(big.Rat).Mul(new(big.Rat).SetInt(new(big.Int).SetUint64(uint64(back))), unit)
		if below := charged.Cmp(ratSquare(g.Mu)); !ok || below < 0 || charged.Sub(charged, unit).Cmp(ratSquare(g.Mu)) >=
			0 {
			t.Fatalf("%d units: μ = %v is charged %d", square, g.Mu, back)
		}
		f := must.Have(accounting.NewGaussianSquare(square))
		part := units.Mu2(rng.Uint64() % uint64(square))
		if accounting.SpendSquare(f, part) != nil || accounting.SpendSquare(f, square-part+1) == nil ||
			accounting.SpendSquare(f, square-part) != nil {
			t.Fatalf("%d units are not those of a filter", square)
		}
	}
	if _, ok := (loss.GDP{Mu: 4096}).Square(); ok {
		t.Error("μ² = 2^24 fits an account")
	}
}

// The last mechanism uses the rest exactly, with a μ no greater than the rest pays for.
func TestRuleTheRestIsSpentExactly(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 13, 300))
	for range 300 {
		b := math.Exp2(8*rng.Float64() - 4)
		f := must.Have(accounting.NewGaussian(b))
		spent, paid := b*rng.Float64(), loss.GDP{}
		must.Have(0, f.Spend(loss.GDP{Mu: spent}))
		left := new(big.Rat).Sub(ratSquare(b), ratSquare(spent))
		paid = must.Have(accounting.SpendRest(f, loss.GDP{Mu: b}))
		if ratSquare(paid.Mu).Cmp(left) > 0 || ratSquare(math.Nextafter(paid.Mu, b)).Cmp(left) <= 0 {
			t.Fatalf("%v of %v: the rest is μ = %v", spent, b, paid.Mu)
		}
		if _, err := accounting.SpendRest(f, loss.GDP{Mu: 0x1p-60}); !errors.Is(err, accounting.ErrExceeded) ||
			f.Left().Mu != 0 {
			t.Fatalf("%v of %v: %v is left: %v", spent, b, f.Left(), err)
		}
		whole := must.Have(accounting.NewGaussian(b))
		if paid := must.Have(accounting.SpendRest(whole, loss.GDP{Mu: spent})); paid.Mu != spent ||
			whole.Left().Mu < f.Left().Mu {
			t.Fatalf("what fits is charged %v, not %v", paid.Mu, spent)
		}
	}
}
