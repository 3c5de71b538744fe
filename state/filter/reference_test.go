package filter_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/loss"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s is %v, want %v to a relative %v", what, got, want, tolerance)
	}
}

// TestBudgetsAreThoseOfPublishedConversions inverts values that others computed: a
// filter for their (ε, δ) has their ρ or μ as its budget.
func TestBudgetsAreThoseOfPublishedConversions(t *testing.T) {
	// opendp/opendp, python/test/test_measurement.py: a Gaussian of scale 4, as
	// printed.
	f := must(filter.NewZCDPOptimal(loss.Approx{Epsilon: 0.6880024554878085, Delta: 1e-3}))
	near(t, "ρ", f.Left().Rho, 1.0/32, 1e-13)
	// IBM/discrete-gaussian-differential-privacy, cdp2adp.py (the program of Canonne,
	// Kamath and Steinke 2020), at its example.
	f = must(filter.NewZCDPOptimal(loss.Approx{Epsilon: 1, Delta: 1.3361319064032213e-06}))
	near(t, "ρ", f.Left().Rho, 0.025, 1e-13)

	// R package fdp, documentation of gdp_to_epsdelta: 15 digits.
	g := must(filter.NewGDPFor(loss.Approx{Epsilon: 1, Delta: 0.126936737506644}))
	near(t, "μ", g.Left().Mu, 1, 1e-13)

	// Bun and Steinke 2016, Proposition 1.3: ρ-zCDP is (ρ + 2·√(ρ·ln 1/δ), δ)-DP.
	// At δ = e^-4 and ρ = 1/4 that is ε = 9/4.
	s := must(filter.NewZCDP(loss.Approx{Epsilon: 2.25, Delta: math.Exp(-4)}))
	near(t, "ρ", s.Left().Rho, 0.25, 1e-15)
}

// TestGaussianReleasesBeforeRefusal compares the filters on the same releases: σ =
// 100, sensitivity 1, so μ = 0.01 and ρ = 5e-5, under (1, 1e-6). The counts 560, 487
// and 349 are those of the project's theory page for the exact Gaussian, the optimal
// and the simple zCDP conversion.
func TestGaussianReleasesBeforeRefusal(t *testing.T) {
	p := loss.Approx{Epsilon: 1, Delta: 1e-6}
	for _, c := range []struct {
		name      string
		got, want int
	}{
		{"gdp", count(t, must(filter.NewGDPFor(p)), loss.GDP{Mu: 0.01}), 560},
		{"zcdp optimal", count(t, must(filter.NewZCDPOptimal(p)), loss.ZCDP{Rho: 5e-5}), 487},
		{"zcdp", count(t, must(filter.NewZCDP(p)), loss.ZCDP{Rho: 5e-5}), 349},
	} {
		if c.got != c.want {
			t.Errorf("%s takes %d releases, want %d", c.name, c.got, c.want)
		}
	}
}

// TestGDPTakes495WhereRDPTakes420 is Koskela et al., Section 4.1 and Figure 3: at σ =
// 100 and δ = 1e-5 an ε that RDP exhausts in 420 steps lasts for 495 under GDP.
func TestGDPTakes495WhereRDPTakes420(t *testing.T) {
	c, err := budgets.ConvertDeltaRho(1e-5, 420*5e-5*(1+1e-9), budgets.RDP)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "ε", c.Epsilon, 0.815, 1e-2)
	p := loss.Approx{Epsilon: c.Epsilon, Delta: 1e-5}
	if got := count(t, must(filter.NewZCDPOptimal(p)), loss.ZCDP{Rho: 5e-5}); got != 420 {
		t.Errorf("RDP takes %d steps, want 420", got)
	}
	if got := count(t, must(filter.NewGDPFor(p)), loss.GDP{Mu: 0.01}); got < 493 || got > 497 {
		t.Errorf("GDP takes %d steps, want about 495", got)
	}
}

// TestTheUnifiedFilterPaysOnlyTheStoppedRung compares it with the doubling baseline
// of Rogers et al. 2023, Section 7.1, which pays every rung: (1 − r^−(k+1))/(1 − 1/r)
// times as much for rungs that grow by r.
func TestTheUnifiedFilterPaysOnlyTheStoppedRung(t *testing.T) {
	const r, k, first = 2.0, 5, 0x1p-20
	last := first * math.Pow(r, k)
	unified, doubling := must(filter.NewUnified(1, 0)), must(filter.NewUnified(1, 0))
	worst := loss.ZCDP{Rho: 4 * last}
	if err := unified.Reserve(worst); err != nil {
		t.Fatal(err)
	}
	if err := unified.Settle(worst, loss.ZCDP{Rho: last}); err != nil {
		t.Fatal(err)
	}
	for rung := range k + 1 {
		if err := doubling.Spend(loss.ZCDP{Rho: first * math.Pow(r, float64(rung))}); err != nil {
			t.Fatal(err)
		}
	}
	ratio := (1 - doubling.Left().Rho) / (1 - unified.Left().Rho)
	near(t, "doubling over unified", ratio, (1-math.Pow(r, -(k+1)))/(1-1/r), 1e-12)
}

func TestARenyiLossIsChargedAtTheNextOrderItStates(t *testing.T) {
	curve := loss.RDP{{Alpha: 1.5, Epsilon: 0.1}, {Alpha: 8, Epsilon: 0.25}, {Alpha: 64, Epsilon: 0.5}}
	for _, c := range []struct{ order, charge float64 }{{1.25, 0.1}, {1.5, 0.1}, {2, 0.25}, {8, 0.25}, {9, 0.5}, {64, 0.5}} {
		one := must(filter.NewRenyi(c.order, 1))
		many := must(filter.NewRenyiOrders(loss.RDP{{Alpha: c.order, Epsilon: 1}}))
		for _, f := range []filter.Filter[loss.RDP]{one, many} {
			if err := f.Spend(curve); err != nil {
				t.Fatal(err)
			}
			near(t, "what is left", f.Left()[0].Epsilon, 1-c.charge, 1e-15)
		}
	}
}

// TestEveryOrderMustStayWithinItsBudget goes past one budget while the other is
// nearly untouched.
func TestEveryOrderMustStayWithinItsBudget(t *testing.T) {
	f := must(filter.NewRenyiOrders(loss.RDP{{Alpha: 2, Epsilon: 0.5}, {Alpha: 32, Epsilon: 8}}))
	if got := count(t, f, loss.RDP{{Alpha: 2, Epsilon: 0.125}, {Alpha: 32, Epsilon: 0.125}}); got != 4 {
		t.Errorf("%d losses were taken, order 2 has a budget for 4", got)
	}
}
