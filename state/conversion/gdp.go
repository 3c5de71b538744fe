package conversion

import (
	"cmp"
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// GDPToEpsilon returns the least ε ≥ 0 at which μ-GDP is (ε, δ)-DP, rounded up. It is the exact
// inverse of the curve of GDPToDelta. A positive μ below budgets.MinMu counts as MinMu. The error
// is a *units.RangeError unless 0 ≤ μ ≤ budgets.MaxMu and budgets.MinDelta ≤ δ < 1.
func GDPToEpsilon(g loss.GDP, delta float64) (epsilon float64, err error) {
	if err := cmp.Or(g.Validate(), budgets.CheckDelta(delta)); err != nil {
		return 0, err
	}
	if g.Mu == 0 {
		return 0, nil
	}
	c, err := budgets.ConvertDeltaMu(delta, max(g.Mu, budgets.MinMu), budgets.GDP)
	return c.Epsilon, err
}

// GDPToDelta returns the least δ for which μ-GDP is (ε, δ)-DP, rounded up: Φ(−ε/μ + μ/2) −
// e^ε·Φ(−ε/μ − μ/2), which is exact for Gaussian noise (Dong, Roth and Su, 2022, Corollary 2.13;
// Koskela, Tobaben and Honkela, Corollary C.2). A positive μ below budgets.MinMu counts as MinMu.
// The error is a *units.RangeError unless 0 ≤ ε ≤ budgets.MaxEpsilon and 0 ≤ μ ≤ budgets.MaxMu.
func GDPToDelta(g loss.GDP, epsilon float64) (delta float64, err error) {
	if err := cmp.Or(g.Validate(), checkEpsilon(epsilon)); err != nil {
		return 0, err
	}
	if g.Mu == 0 {
		return 0, nil
	}
	c, err := budgets.ConvertEpsilonMu(positive(epsilon), max(g.Mu, budgets.MinMu), budgets.GDP)
	return c.Delta, err
}

// GDPWithin returns the greatest μ for which μ-GDP is (ε, δ)-DP, rounded down. The error is a
// *units.RangeError unless 0 < ε ≤ budgets.MaxEpsilon, budgets.MinDelta ≤ δ < 1 and the result is
// in [budgets.MinMu, budgets.MaxMu].
func GDPWithin(budget loss.Approx) (loss.GDP, error) {
	c, err := budgets.ConvertEpsilonDelta(budget.Epsilon, budget.Delta, budgets.GDP)
	return loss.GDP{Mu: c.Mu}, err
}

// GDPToZCDP returns the least ρ for which μ-GDP is ρ-zCDP, rounded up. It is μ²/2, the ρ of the
// Gaussian pair, because every μ-GDP pair is a post-processing of that pair (Dong, Roth and Su,
// 2022, Corollary B.6; Bun and Steinke, 2016, Proposition 1.6). The error is a *units.RangeError,
// including when ρ does not fit into a float64.
func GDPToZCDP(g loss.GDP) (loss.ZCDP, error) {
	if err := g.Validate(); err != nil {
		return loss.ZCDP{}, err
	}
	z := loss.ZCDP{Rho: bigmath.RoundUp(bigmath.Half(bigmath.Square(g.Mu)))}
	if z.Validate() != nil {
		return loss.ZCDP{}, &units.RangeError{Parameter: "mu", Value: g.Mu,
			Range: "at most 1.8e154, because otherwise rho = mu²/2 does not fit in a float64"}
	}
	return z, nil
}

// GDPToRDP returns the least bounds α·μ²/2 on the Rényi divergence of μ-GDP at the given orders,
// rounded up; one that does not fit into a float64 becomes +Inf. The orders must be above 1, finite
// and ascending. The error is a *units.RangeError.
func GDPToRDP(g loss.GDP, orders []float64) (loss.RDP, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	return linearRDP(bigmath.Half(bigmath.Square(g.Mu)), orders)
}

// linearRDP returns the curve α·ρ, rounded up.
func linearRDP(rho *big.Float, orders []float64) (loss.RDP, error) {
	return curve(orders, func(alpha float64) float64 {
		return bigmath.RoundUp(bigmath.Up().Mul(rho, bigmath.New(alpha)))
	})
}

// curve checks the orders and returns the Rényi curve that divergence computes.
func curve(orders []float64, divergence func(alpha float64) float64) (loss.RDP, error) {
	r := make(loss.RDP, len(orders))
	for i, alpha := range orders {
		r[i].Alpha = alpha
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	for i := range r {
		r[i].Epsilon = divergence(r[i].Alpha)
	}
	return r, nil
}
