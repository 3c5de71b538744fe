package conversion

import (
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// smallEpsilon is the ε below which the computed divergence of randomised response would have no
// correct digits. Below it, the lesser of α·ρ and ε is returned.
const smallEpsilon = 0x1p-60

// PureToZCDP returns the least ρ for which ε-DP is ρ-zCDP, rounded up: ε·tanh(ε/2).
//
// Every ε-DP pair is a post-processing of randomised response (Kairouz, Oh and Viswanath, 2015,
// Theorem 3.3), whose Rényi divergence is D_α = (ln cosh((α−½)ε) − ln cosh(ε/2))/(α−1). As ln
// cosh(ε√u) is concave in u and α(α−1) = (α−½)² − ¼, the tangent at u = ¼ gives D_α ≤
// α·ε·tanh(ε/2), with equality for α → 1. ε²/2 (Bun and Steinke, 2016, Proposition 1.4) is greater.
//
// 0 ≤ ε ≤ budgets.MaxEpsilon; the error is a *units.RangeError.
func PureToZCDP(epsilon float64) (loss.ZCDP, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return loss.ZCDP{}, err
	}
	return loss.ZCDP{Rho: bigmath.RoundUp(pureRho(epsilon))}, nil
}

// pureRho returns an upper bound on ε·tanh(ε/2) = ε·(1 − e^−ε)/(1 + e^−ε).
func pureRho(epsilon float64) *big.Float {
	rise := bigmath.Expm1(bigmath.New(-epsilon)) // e^−ε − 1
	rho := bigmath.Zero().Neg(rise)
	rho.Mul(rho, bigmath.New(epsilon))
	rho.Quo(rho, rise.Add(rise, bigmath.New(2)))
	return rho.Add(rho, bigmath.Margin(rho))
}

// PureToRDP returns the least Rényi divergences that ε-DP implies at the given orders, rounded up.
// They are the divergences of randomised response,
//
//	ln((e^(αε) + e^((1−α)ε))/(1 + e^ε))/(α−1)
//
// (Mironov, 2017, Proposition 5). The orders must be above 1, finite and ascending. The error is a
// *units.RangeError, also unless 0 ≤ ε ≤ budgets.MaxEpsilon.
func PureToRDP(epsilon float64, orders []float64) (loss.RDP, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return nil, err
	}
	rho := pureRho(epsilon)
	return curve(orders, func(alpha float64) float64 {
		bound := least(bigmath.Up().Mul(rho, bigmath.New(alpha)), bigmath.New(epsilon))
		if epsilon >= smallEpsilon && alpha <= maxOrder {
			bound = least(bound, responseDivergence(epsilon, alpha))
		}
		return bigmath.RoundUp(bound)
	})
}

// responseDivergence returns an upper bound on the divergence of order α of randomised response, ε
// − ln((1+e^−ε)/(1+e^(−(2α−1)ε)))/(α−1). This difference is at least α·ε/4, and a margin of
// 2^-140·ε covers the rounding errors.
func responseDivergence(epsilon, alpha float64) *big.Float {
	// For x ≥ faded, e^-x is below 2^-1400. Reducing x to faded increases the bound.
	const faded = 1000
	e, t := bigmath.New(epsilon), bigmath.New(alpha)
	t.Sub(t, bigmath.New(1))
	far := bigmath.Zero().Add(t, t)
	far.Add(far, bigmath.New(1))
	far.Mul(far, e)
	far = least(far, bigmath.New(faded))

	one := bigmath.New(1)
	quotient := bigmath.Exp(bigmath.New(-epsilon))
	quotient.Add(quotient, one)
	quotient.Quo(quotient, bigmath.Zero().Add(one, bigmath.Exp(far.Neg(far))))
	lost := bigmath.Log(quotient)
	lost.Quo(lost, t)
	sum := bigmath.Zero().Sub(e, lost)
	return sum.Add(sum, bigmath.Margin(e))
}

// ApproxToZCDP returns δ-approximate ρ-zCDP with the ρ of PureToZCDP. It is valid because an (ε,
// δ)-DP pair is a post-processing of randomised response that openly fails with probability δ
// (Kairouz, Oh and Viswanath, 2015, Theorem 3.4). The error is a *units.RangeError unless 0 ≤ ε ≤
// budgets.MaxEpsilon and 0 ≤ δ < 1.
func ApproxToZCDP(a loss.Approx) (loss.ZCDP, error) {
	if err := a.Validate(); err != nil {
		return loss.ZCDP{}, err
	}
	z, err := PureToZCDP(a.Epsilon)
	z.Delta = a.Delta
	return z, err
}

func least(x, y *big.Float) *big.Float {
	if x.Cmp(y) <= 0 {
		return x
	}
	return y
}

// PureToGDP returns the least μ for which ε-DP is μ-GDP, rounded up. It is 2·Φ⁻¹(e^ε/(1 + e^ε)):
// with this μ, the Gaussian trade-off curve passes through the corner of the curve of randomised
// response (Dong, Roth and Su, 2022). For δ > 0 there is no such μ. The error is a
// *units.RangeError unless 0 ≤ ε ≤ budgets.MaxEpsilon.
func PureToGDP(epsilon float64) (loss.GDP, error) {
	if err := checkEpsilon(epsilon); err != nil || epsilon == 0 {
		return loss.GDP{}, err
	}
	alpha := bigmath.Exp(bigmath.New(epsilon))
	alpha.Quo(bigmath.New(1), alpha.Add(alpha, bigmath.New(1)))
	alpha.Sub(alpha, bigmath.Margin(alpha))
	mu := bigmath.QuantileAbove(alpha)
	return loss.GDP{Mu: bigmath.RoundUp(mu.Add(mu, mu))}, nil
}
