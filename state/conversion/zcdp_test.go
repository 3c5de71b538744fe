package conversion_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// A mechanism that fails openly with probability δ₀ and is Gaussian else has exactly
// δ₀ + (1 − δ₀)·δ_μ(ε).
func TestApproximateZCDPCoversAMechanismThatFailsOpenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu := math.Exp(rapid.Float64Range(-8, 2).Draw(t, "log mu"))
		failed := math.Pow(10, rapid.Float64Range(-12, -1).Draw(t, "log failed"))
		epsilon := rapid.Float64Range(0, 50).Draw(t, "epsilon")
		z := must.Have(conversion.GDPToZCDP(loss.GDP{Mu: mu}))
		z.Delta = failed
		claimed, err1 := conversion.ApproxZCDPToDelta(z, epsilon)
		exact, err2 := conversion.GDPToDelta(loss.GDP{Mu: mu}, epsilon)
		truth := failed + (1-failed)*exact
		if err1 != nil || err2 != nil || claimed < truth*(1-1e-15) || claimed < failed || claimed > 1 {
			t.Fatalf("μ = %v, δ₀ = %v, ε = %v: δ = %v, truth %v; %v %v", mu, failed, epsilon, claimed, truth, err1,
				err2)
		}
	})
}

func TestApproximateZCDPRoundTripsNeverFlatter(t *testing.T) {
	deltas, rhos := []float64{1e-1, 1e-6, 1e-17, 1e-100, 1e-300}, []float64{1e-30, 1e-8, 0.01, 1, 100}
	if !long.On() {
		deltas, rhos = deltas[1:2], rhos[2:4]
	}
	for _, rho := range rhos {
		for _, delta := range deltas {
			for _, share := range []float64{0, 1e-3, 0.5, 0.999} {
				z := loss.ZCDP{Rho: rho, Delta: share * delta}
				epsilon, err := conversion.ApproxZCDPToEpsilon(z, delta)
				if share > 0 && (1-share)*delta < 1e-300 {
					var out *units.RangeError
					if !errors.As(err, &out) || out.Parameter != "delta" {
						t.Errorf("%v at δ = %v: %v", z, delta, err)
					}
					continue
				}
				back, err2 := conversion.ApproxZCDPToDelta(z, epsilon)
				if err != nil || err2 != nil || !(back <= delta) {
					t.Errorf("%v at δ = %v: ε = %v, %v, back δ = %v, %v", z, delta, epsilon, err, back, err2)
				}
				if epsilon == 0 {
					continue
				}
				if less, err := conversion.ApproxZCDPToDelta(z, epsilon*(1-1e-9)); err != nil || less <= z.Delta+
					(delta-z.Delta)*(1-1e-15) {
					t.Errorf("%v at δ = %v: a smaller ε than %v has δ = %v, %v", z, delta, epsilon, less, err)
				}
			}
		}
	}
}

func TestNoLossIsNoEpsilonAndNoMoreDeltaThanItHas(t *testing.T) {
	e1, err1 := conversion.ApproxZCDPToEpsilon(loss.ZCDP{Delta: 1e-6}, 1e-6)
	d1, err2 := conversion.ApproxZCDPToDelta(loss.ZCDP{Delta: 1e-6}, 0)
	e2, err3 := conversion.GDPToEpsilon(loss.GDP{}, 1e-300)
	d2, err4 := conversion.GDPToDelta(loss.GDP{}, 0)
	if err := errors.Join(err1, err2, err3, err4); err != nil || e1 != 0 || d1 != 1e-6 || e2 != 0 || d2 != 0 {
		t.Errorf("no loss: %v %v %v %v, %v", e1, d1, e2, d2, err)
	}
	// A tiny loss is taken as the least that is converted, never as none.
	d3, err := conversion.GDPToDelta(loss.GDP{Mu: 1e-300}, 0)
	if err != nil || !(d3 > 0 && d3 < 1e-15) {
		t.Errorf("δ(0) of μ = 1e-300: %v, %v", d3, err)
	}
	// A δ below δ₀ has no ε.
	_, err = conversion.ApproxZCDPToEpsilon(loss.ZCDP{Rho: 1, Delta: 1e-6}, 1e-6)
	var out *units.RangeError
	if !errors.As(err, &out) || out.Parameter != "delta" {
		t.Errorf("δ = δ₀: %v", err)
	}
}

func TestGDPWithinABudgetIsTheLargestThatFits(t *testing.T) {
	budgets := []loss.Approx{{Epsilon: 200, Delta: 1e-300}, {Epsilon: 1, Delta: 1e-6}, {Epsilon: 1e-3, Delta: 0.1}}
	if !long.On() {
		budgets = budgets[:1]
	}
	for _, budget := range budgets {
		g, err1 := conversion.GDPWithin(budget)
		d1, err3 := conversion.GDPToDelta(g, budget.Epsilon)
		d2, err4 := conversion.GDPToDelta(loss.GDP{Mu: math.Nextafter(g.Mu, 9e9)}, budget.Epsilon)
		must.Have(0, errors.Join(err1, err3, err4))
		if !(d1 <= budget.Delta && d2 > budget.Delta) {
			t.Errorf("%v: %v has δ = %v, above it %v", budget, g, d1, d2)
		}
	}
}

func TestLinearCurvesAreRoundedUp(t *testing.T) {
	orders := []float64{1.1, 2, 3.7, 1e3, 1e300}
	for _, mu := range []float64{0, 1e-170, 0.1, 1 / 1.1, 1e10} {
		z, err1 := conversion.GDPToZCDP(loss.GDP{Mu: mu})
		a, err2 := conversion.GDPToRDP(loss.GDP{Mu: mu}, orders)
		b, err3 := conversion.ZCDPToRDP(z, orders)
		must.Have(0, errors.Join(err1, err2, err3))
		for i, alpha := range orders {
			exact := alpha * (mu * mu / 2)
			if !(a[i].Epsilon >= exact*(1-1e-15) && a[i].Epsilon <= exact*(1+1e-15)+5e-324*alpha &&
				b[i].Epsilon >= a[i].Epsilon) {
				t.Errorf("μ = %v, order %v: %v and %v, want %v", mu, alpha, a[i].Epsilon, b[i].Epsilon, exact)
			}
		}
	}
}
