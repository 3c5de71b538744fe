package accounting_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s is %v, want %v to a relative %v", what, got, want, tolerance)
	}
}

// TestBudgetsAreThoseOfPublishedConversions inverts values that others computed.
func TestBudgetsAreThoseOfPublishedConversions(t *testing.T) {
	// R package fdp, documentation of gdp_to_epsdelta: 15 digits.
	g := must.Have(accounting.NewGaussianFor(loss.Approx{Epsilon: 1, Delta: 0.126936737506644}))
	near(t, "μ", g.Left().Mu, 1, 1e-13)
	// Bun and Steinke 2016, Proposition 1.3: ρ-zCDP is (ρ + 2·√(ρ·ln 1/δ), δ)-DP.
	// At δ = e^-4 and ρ = 1/4 that is ε = 9/4.
	s := must.Have(accounting.NewZCDP(loss.Approx{Epsilon: 2.25, Delta: math.Exp(-4)}))
	near(t, "ρ", s.Left().Rho, 0.25, 1e-15)
}

// TestReleasesBeforeRefusal compares filters on the same releases. With σ = 100 and sensitivity 1,
// so μ = 0.01 and ρ = 5e-5, under (1, 1e-6), the counts 560 and 349 are from the project's theory
// page. 0.815 and 495 are of Koskela et al., Section 4.1 and Figure 3, at δ = 1e-5, where RDP has
// 420. 801 and the order of the three are of Dwork and Roth (2014), Section 3.5.2: 10,000 databases
// of 1/801-DP each are 1-DP but for e^-32 by advanced composition of everything fixed beforehand.
func TestReleasesBeforeRefusal(t *testing.T) {
	p := loss.Approx{Epsilon: 1, Delta: 1e-6}
	if got := count(must.Have(accounting.NewGaussianFor(p)), loss.GDP{Mu: 0.01}, -2); got != 560 {
		t.Errorf("gdp takes %d releases, want 560", got)
	}
	if got := count(must.Have(accounting.NewZCDP(p)), loss.ZCDP{Rho: 5e-5}, -2); got != 349 {
		t.Errorf("zcdp takes %d releases, want 349", got)
	}
	c := must.Have(budgets.ConvertDeltaRho(1e-5, 420*5e-5*(1+1e-9), budgets.RDP))
	near(t, "ε", c.Epsilon, 0.815, 1e-2)
	if got := count(must.Have(accounting.NewGaussianFor(loss.Approx{Epsilon: c.Epsilon, Delta: 1e-5})),
		loss.GDP{Mu: 0.01},
		-2); got < 493 || got > 497 {
		t.Errorf("GDP takes %d steps, want about 495", got)
	}

	p.Delta = math.Exp(-32)
	one := loss.Approx{Epsilon: 1.0 / 801}
	basic := count(must.Have(accounting.NewBasic(p)), one, -2)
	advanced := count(must.Have(accounting.NewAdvanced(p)), one, -2)
	zcdp := count(must.Have(accounting.NewZCDP(p)), loss.ZCDP{Rho: one.Epsilon * one.Epsilon / 2}, -2)
	if basic != 801 && basic != 800 { // 1/801 as a float64 is rounded
		t.Errorf("basic composition takes %d", basic)
	}
	if want := advancedCount(p, one.Epsilon); advanced != want {
		t.Errorf("the advanced filter takes %d, its theorem allows %d", advanced, want)
	}
	if advanced <= 4*basic || advanced >= zcdp || zcdp > 10_000 {
		t.Errorf("basic %d, advanced %d, zCDP %d, fixed 10000: not in the order of the theorems", basic, advanced, zcdp)
	}
}

// advancedCount returns the number of equal losses that Theorem 5.1 allows, by bisection
// of the 384-bit formula.
func advancedCount(p loss.Approx, epsilon float64) int {
	allowed := func(n int) bool {
		times := exact(float64(n))
		bound := advancedEpsilon(p, new(big.Float).Mul(excess(epsilon), times), new(big.Float).Mul(square(epsilon),
			times))
		return bound.Cmp(bigmath.New(p.Epsilon)) <= 0
	}
	lo, hi := 0, 1<<40
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; allowed(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// TestTheUnifiedFilterPaysOnlyTheStoppedRung compares it with the doubling baseline
// of Rogers et al. 2023, Section 7.1, which pays every rung: (1 − r^−(k+1))/(1 − 1/r)
// times as much for rungs that grow by r.
func TestTheUnifiedFilterPaysOnlyTheStoppedRung(t *testing.T) {
	const r, k, first = 2.0, 5, 0x1p-20
	last := first * math.Pow(r, k)
	unified, doubling := must.Have(accounting.NewUnified(1, 0)), must.Have(accounting.NewUnified(1, 0))
	worst := loss.ZCDP{Rho: 4 * last}
	must.Have(0, unified.Reserve(worst))
	must.Have(0, unified.Settle(worst, loss.ZCDP{Rho: last}))
	for rung := range k + 1 {
		must.Have(0, doubling.Spend(loss.ZCDP{Rho: first * math.Pow(r, float64(rung))}))
	}
	ratio := (1 - doubling.Left().Rho) / (1 - unified.Left().Rho)
	near(t, "doubling over unified", ratio, (1-math.Pow(r, -(k+1)))/(1-1/r), 1e-12)
}

// A loss is charged at the next order that it states, and every order must stay within its budget.
func TestARenyiLossIsChargedAtTheNextOrderItStates(t *testing.T) {
	curve := renyi(1.5, 8, 64)(numbers{0.1, 0.25, 0.5})
	for _, c := range []struct{ order, charge float64 }{{1.25, 0.1}, {1.5, 0.1}, {2, 0.25}, {8, 0.25}, {9, 0.5},
		{64, 0.5}} {
		f, o := must.Have(accounting.NewRenyi(renyi(c.order)(numbers{1}))),
			must.Have(accounting.NewRenyiTotal([]float64{c.order}))
		must.Have(0, f.Spend(curve))
		must.Have(0, o.Record(curve))
		near(t, "what is left", f.Left()[0].Epsilon, 1-c.charge, 1e-15)
		near(t, "the total", o.Bound()[0].Epsilon, c.charge, 1e-15)
	}
	f := must.Have(accounting.NewRenyi(renyi(2, 32)(numbers{0.5, 8})))
	if got := count(f, renyi(2, 32)(numbers{0.125, 0.125}), -2); got != 4 {
		t.Errorf("%d losses were taken, order 2 has a budget for 4", got)
	}
}

// The reference values below were computed with mpmath 1.3.0 at 60 decimals from the formulas of
// the papers, on the float64 values of the inputs. A claim must not be below its value, and above
// it by no more than the stated part.
func requireJustAbove(t *testing.T, what string, got float64, want string, within float64) {
	t.Helper()
	exact, _, err := big.ParseFloat(want, 10, 200, big.ToNearestEven)
	must.Have(0, err)
	limit := new(big.Float).Mul(exact, big.NewFloat(1+within))
	if g := new(big.Float).SetFloat64(got); g.Cmp(exact) < 0 || g.Cmp(limit) > 0 {
		t.Errorf("%s: %.17g, want at most a part of %g above %s", what, got, within, want)
	}
}

func record[L, B any](o *accounting.Odometer[L, B], l L, times int) *accounting.Odometer[L, B] {
	for range times {
		must.Have(0, o.Record(l))
	}
	return o
}

func TestAdvancedOdometerHasTheValuesOfTheorem62(t *testing.T) {
	for _, c := range []struct {
		epsilon float64
		times   int
		delta   float64
		n       uint64
		want    string
		within  float64
	}{
		{0.01, 5000, 1e-6, 1024, "7.61598893112385087873109424744", 1e-11},
		{0.001, 100000, 1e-10, 65536, "4.1545335264843494171156987129", 1e-11},
		{0.1, 1000, 1e-5, 1 << 20, "76.6091614076432344824733638317", 1e-11}, // Σε² above 1
		{0.125, 8000, 1e-2, 2, "145.098078929122763893475232025", 1e-11},     // the least n
		{5e-7, 1000000, 1e-6, 32, "0.181237724921644151748006001988", 1e-10}, // Σε² below 1/n²
		// n² no power of two: 2k = 40, not 39.86
		{0.01, 5000, 1e-6, 1000, "7.61598893112385087873109424744", 1e-11},
		{0.05, 10000, 1e-9, 1000000, "156.40627209796533203307251006", 1e-11},       // the same, above 1
		{0.01, 50, 1e-6, 1024, "0.5000000000000000104083408558608425664715", 1e-15}, // Σε is the better bound
		{0.001, 100000, 1e-300, 65536, "20.8025299447802602115328587885", 1e-11},    // δ at its least
	} {
		o := record(must.Have(accounting.NewAdvancedOdometer(c.delta, c.n)), loss.Approx{Epsilon: c.epsilon}, c.times)
		if b := o.Bound(); b.Delta != c.delta {
			t.Errorf("the bound has δ = %v, want %v", b.Delta, c.delta)
		} else {
			requireJustAbove(t, "Bound", b.Epsilon, c.want, c.within)
		}
	}
}

// The best mixture has p = T/(y − 1), y = −W₋₁(−δ²/e), with Lambert's W of mpmath.
func TestMixtureForAVarianceIsTheBest(t *testing.T) {
	for _, c := range []struct {
		delta, variance float64
		want            string
	}{
		{1e-6, 100, "0.571567499913021402327066071323"},
		{0.05, 1, "3.53512241302855099232837712495"},
		{1e-300, 7, "14.1618912134620291388777616152"},
		{0.5, 3, "1.27611615911621718695111154085"},
	} {
		requireJustAbove(t, "at its own variance", must.Have(must.Have(accounting.NewMixtureFor(c.delta,
			c.variance)).At(1,
			c.variance)).Epsilon, c.want, 1e-11)
	}
}

func TestTimeUniformOdometersHaveTheValuesOfTheirFormulas(t *testing.T) {
	for _, c := range []struct {
		rho, epsilon, delta float64
		want                string
	}{
		{0.5, 0.5, 1e-6, "6.16567499913021402327066071323"},
		{0.125, 1, 1e-10, "3.85729765601830125336400339968"},
		{20, 0.5, 0.05, "41.7484398917969557340660075988"},
	} {
		o := record(must.Have(accounting.NewConcentratedOdometer(c.delta, c.epsilon)), loss.ZCDP{Rho: c.rho / 8}, 8)
		requireJustAbove(t, "concentrated", o.Bound().Epsilon, c.want, 1e-11)
	}
	orders := []float64{2, 4, 8, 16, 32}
	o := record(must.Have(accounting.NewRenyiOdometer(1e-5, orders)), renyi(orders...)(numbers{0.04, 0.2, 0.4, 0.8,
		1.6}), 1)
	requireJustAbove(t, "five orders", o.Bound().Epsilon, "1.67482422516028862526809849785", 1e-11)
	o = record(must.Have(accounting.NewRenyiOdometer(1e-5, []float64{10})), renyi(10)(numbers{0.5}), 1)
	requireJustAbove(t, "one order", o.Bound().Epsilon, "1.77921394055224759314298926215", 1e-11)
}

func TestPointWiseHasTheValuesOfItsFormula(t *testing.T) {
	for _, c := range []struct {
		l       loss.Approx
		epsilon float64
		want    string
	}{
		{loss.Approx{Epsilon: 1, Delta: 0.1}, 3, "0.121409726569788417018541516056"},
		{loss.Approx{Epsilon: 0.1, Delta: 1e-6}, 0.2, "0.0000191118264715141377058062267635"},
		{loss.Approx{Epsilon: 0, Delta: 1e-300}, 1e-3, "2.00000016666666389737378291939e-297"},
		{loss.Approx{Epsilon: 1}, 2, "0"},
	} {
		got := must.Have(accounting.PointWise(c.l, c.epsilon))
		if got.Epsilon != c.epsilon {
			t.Errorf("ε′ is %v, want %v", got.Epsilon, c.epsilon)
		}
		requireJustAbove(t, "δ′", got.Delta, c.want, 1e-11)
	}
}
