package budgets

import (
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/state/units"
)

// hugeEpsilon replaces larger values of ε in formulas. δ decreases with ε, so its value at
// hugeEpsilon is an upper bound for every larger ε.
const hugeEpsilon = 1e9

// deltaUpper returns an upper bound on δ at ε for a mechanism with squared parameter μ² under an
// accountant. It is exact to a relative 2^-139 and at most 1. ε ≥ 0 and μ² must be finite, and μ²
// must be 0 or at least 2^-100. For an unknown accountant, which exported functions reject, it
// returns 1, which promises nothing.
//
// Budgets are computed only once, when a configuration is read, so slow arithmetic in which
// rounding does not matter is affordable.
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
// ρ-zCDP implies through a Rényi order (Lemma C.4). The formula is valid at every order, so a
// float64 search for the best order affects only tightness (by a relative 1e-20), never validity.
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

// bestOrder returns the t = α − 1 that minimises the bound of zcdpDelta. It is the zero of ρ(1+2t)
// − ε + ln(t/(1+t)), which increases with t. bestOrder returns 0 if the zero is so close to α = 1
// that the bound is effectively 1.
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

// bigFromMu2 returns the exact value of μ².
func bigFromMu2(m units.Mu2) *big.Float {
	x := bigmath.Zero().SetUint64(uint64(m))
	return x.SetMantExp(x, -units.Mu2Bits)
}
