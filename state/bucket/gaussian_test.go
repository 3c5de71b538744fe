package bucket

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

func TestTangentIsBelowTheExactCurveAndClose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu := math.Exp(rapid.Float64Range(math.Log(1e-3), math.Log(10)).Draw(t, "ln mu"))
		epsilon := rapid.Float64Range(1e-6, 9).Draw(t, "deviations")*mu +
			rapid.Float64Range(0, 1).Draw(t, "share")*mu*mu/2
		c := must.Have(budgets.ConvertEpsilonMu(epsilon, mu, budgets.GDP))
		line := tangentAt(mu, epsilon)
		if line.delta > c.Delta || line.delta < c.Delta-3*line.errBound-1e-18 {
			t.Fatalf("δ_%v(%v) ≥ %v, exact %v", mu, epsilon, line.delta, c.Delta)
		}
		if line.errBound > 1e-12 {
			t.Fatalf("error bound %g", line.errBound)
		}
	})
}

func TestNoChordAboveTheCurveStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu := rapid.Float64Range(0.05, 4).Draw(t, "mu")
		epsilon := rapid.Float64Range(0, 5).Draw(t, "deviations") * mu
		step := rapid.Float64Range(0.001, 1).Draw(t, "step") * mu
		a, b := tangentAt(mu, epsilon), tangentAt(mu, epsilon+step)
		shift := rapid.Float64Range(0, 0.1).Draw(t, "shift")
		from, to := a.delta*(1-shift), b.delta*(1-shift)
		if !staysAbove(a, b, step, from, to, 1e-12) {
			return
		}
		for i := range 65 {
			x := math.Expm1(step) * float64(i) / 64
			chord := from + (to-from)*float64(i)/64
			if curve := tangentAt(mu, epsilon+math.Log1p(x)); curve.delta+2*curve.errBound+1e-12 < chord {
				t.Fatalf("chord %v above δ %v at share %d of 64", chord, curve.delta, i)
			}
		}
	})
}
