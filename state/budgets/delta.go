package budgets

import (
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/state/units"
)

// hugeEpsilon caps ε inside formulas. δ falls with ε, so evaluating at the cap is
// an upper bound for everything beyond it.
const hugeEpsilon = 1e9

// deltaUpper returns an upper bound on δ at ε for a mechanism with squared parameter μ² under the
// accountant, exact to a relative 2^-139 and at most 1. ε ≥ 0 and μ² ≥ 0 are finite; μ² is 0 or at
// least 2^-100. For an unknown accountant, which exported functions reject first, it is 1, which
// promises nothing.
//
// Budgets are inverted only once, when a configuration is read, so their formulas can afford
// arithmetic in which rounding does not matter.
func deltaUpper(mu2 *big.Float, epsilon float64, a Accountant) *big.Float {
	if mu2.Sign() == 0 {
		return bigmath.Zero()
	}
	epsilon = min(epsilon, hugeEpsilon)
	c, ok := curveOf(a)
	if !ok {
		return bigmath.New(1)
	}
	return bigmath.Upward(c.delta(mu2, epsilon))
}

// zcdpDelta returns inf over α > 1 of e^((α−1)(αρ−ε))/(α−1)·(1−1/α)^α at ρ = μ²/2, the best δ that
// ρ-zCDP implies through a Rényi order (Lemma C.4). The formula holds at every order, so the search
// for the best one may use float64: it costs tightness (a relative 1e-20), never validity.
func zcdpDelta(mu2 *big.Float, epsilon float64) *big.Float {
	rho := bigmath.Half(mu2)
	approx, _ := rho.Float64()
	t := bestOrder(approx, epsilon)
	if t == 0 {
		return bigmath.New(1)
	}
	bt := bigmath.New(t)
	alpha := bigmath.Zero().Add(bt, bigmath.New(1))
	return bigmath.RenyiDelta(bt, alpha.Mul(alpha, rho), bigmath.New(epsilon))
}

// bestOrder returns the α − 1 at which the bound of zcdpDelta is least: the zero of ρ(1+2t) − ε +
// ln(t/(1+t)), which increases with t. It returns 0 if the zero is so close to α = 1 that the bound
// is effectively 1.
func bestOrder(rho, epsilon float64) float64 {
	slope := func(s float64) float64 {
		t := math.Exp(s)
		return float64(rho*(1+2*t)) - epsilon - math.Log1p(1/t)
	}
	lo, hi := -600.0, 120.0
	if slope(lo) >= 0 {
		return 0
	}
	for range 100 {
		mid := lo + (hi-lo)/2
		if slope(mid) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Exp(lo)
}

// bigFromMu2 returns μ² exactly.
func bigFromMu2(m units.Mu2) *big.Float {
	x := bigmath.Zero().SetUint64(uint64(m))
	return x.SetMantExp(x, -units.Mu2Bits)
}
