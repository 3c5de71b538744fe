package conversion

import (
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// BoundedRangeToZCDP returns the least ρ for which every ε-bounded range mechanism is ρ-zCDP,
// rounded up. It is x − 1 − ln x with x = ε/(1 − e^−ε): ε²/8 for small, ε − 1 − ln ε for large ε.
//
// A mechanism has ε-bounded range (Durfee and Rogers, "Practical Differentially Private Top-k
// Selection with Pay-what-you-get Composition", 2019) if, for any two neighbouring inputs, its
// privacy losses are in an interval of length ε. As 0 is in that interval, the mechanism is ε-DP;
// and ε-DP implies 2ε-bounded range. An ε-DP exponential mechanism has ε-bounded range (Durfee and
// Rogers), so for small ε its ρ is a quarter of the ρ for ε-DP in general.
//
// Harrison and Manurangsi ("Exact zCDP Characterizations for Fundamental Differentially Private
// Mechanisms", 2026) give this ρ. Proof. With k(s) = s·ln(2·sinh(sε/2)/s), which is odd, the
// divergences of BoundedRangeToRDP satisfy (α−1)·D_α = k(α) − k(α−1) − k(1). The right side is a
// function of u = (α−½)² that is 0 at u = ¼ and concave for u ≥ ¼, so its tangent at u = ¼ gives
// D_α ≤ α·D_1, where D_1 is the ρ above. To see that it is concave, let v = √u. The derivative in u
// is (k'(v+½) − k'(v−½))/(2v), the mean of k"(s)/(2s) over s² from (v−½)² to (v+½)². Both ends rise
// with v ≥ ½, and k"(s)/s falls for s > 0: with y = sε/2 and the Langevin function L(y) = coth y −
// 1/y, it is a multiple of 2L(y)/y + L'(y), where L(y)/y = Σ 2/(y² + n²π²) falls, and L' falls
// because L is concave.
//
// The error is a *units.RangeError unless 0 ≤ ε ≤ budgets.MaxEpsilon.
func BoundedRangeToZCDP(epsilon float64) (loss.ZCDP, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return loss.ZCDP{}, err
	}
	rho := rounding.ProductUp(rounding.ProductUp(epsilon, epsilon), 0.125) // an upper bound, as L(y)/y ≤ 1/3
	if epsilon >= smallEpsilon {
		rho = min(rho, bigmath.RoundUp(boundedRho(epsilon)))
	}
	return loss.ZCDP{Rho: rho}, nil
}

// boundedRho returns an upper bound on the ρ of BoundedRangeToZCDP.
func boundedRho(epsilon float64) *big.Float {
	x := bigmath.Zero().Quo(bigmath.New(epsilon), bigmath.Zero().Neg(bigmath.Expm1(bigmath.New(-epsilon))))
	rho := bigmath.Zero().Sub(x, bigmath.New(1))
	rho.Sub(rho, bigmath.Log(x))
	return rho.Add(rho, bigmath.Margin(x))
}

// BoundedRangeToRDP returns the least Rényi divergences that ε-bounded range implies at the given
// orders, rounded up. With A(s) = (1 − e^(−sε))/s, they are
//
//	ε + (α·ln A(α) − (α−1)·ln A(α−1) − ln A(1))/(α−1),
//
// which is the greatest divergence, over t, of a pair on two outcomes with losses t and t−ε. Such
// pairs are the worst pairs (BoundedRangeToGDP). With a = e^(t−ε) and c = e^ε, E_Q (P/Q)^α =
// a^(α−1)·(c^α − 1 − a·(c^α − c))/(c − 1) is greatest at a = (α−1)(c^α − 1)/(α(c^α − c)).
//
// The orders must be above 1, finite and ascending. The error is a *units.RangeError, also unless 0
// ≤ ε ≤ budgets.MaxEpsilon.
func BoundedRangeToRDP(epsilon float64, orders []float64) (loss.RDP, error) {
	z, err := BoundedRangeToZCDP(epsilon)
	if err != nil {
		return nil, err
	}
	var before, log *big.Float // ln A(computed)
	computed := math.NaN()
	logA := func(s float64) *big.Float {
		if s != computed {
			exponent := bigmath.Zero().Mul(bigmath.New(s), bigmath.New(epsilon))
			exponent = least(exponent, bigmath.New(1000)) // e^-1000 is far below the margin
			a := bigmath.Expm1(exponent.Neg(exponent))
			computed, log = s, bigmath.Log(a.Quo(a, bigmath.New(-s)))
		}
		return log
	}
	if epsilon >= smallEpsilon {
		before = logA(1)
	}
	return curve(orders, func(alpha float64) float64 {
		bound := min(rounding.ProductUp(z.Rho, alpha), epsilon)
		if epsilon < smallEpsilon || alpha > 0x1p30 {
			return bound
		}
		t := bigmath.Zero().Sub(bigmath.New(alpha), bigmath.New(1)) // exact, even as a float64
		below, _ := t.Float64()
		less := bigmath.Zero().Mul(t, logA(below))
		less.Add(less, before)
		more := bigmath.Zero().Mul(bigmath.New(alpha), logA(alpha))
		size := bigmath.Zero().Abs(more)
		sum := bigmath.Zero().Sub(more, less)
		sum.Quo(sum.Add(sum, bigmath.Margin(size.Add(size, bigmath.New(1)))), t)
		return min(bound, bigmath.RoundUp(sum.Add(sum, bigmath.New(epsilon))))
	})
}

// BoundedRangeToGDP returns the least μ for which ε-bounded range (see BoundedRangeToZCDP) is
// μ-GDP, rounded up. It is the μ of PureToGDP for ε/2.
//
// Proof. A pair whose losses are in [t−ε, t] is a post-processing of the pair on two outcomes with
// losses t and t−ε: the ratio P/Q has mean 1 under Q, and of all distributions with mean 1 on an
// interval, the one on its ends is the greatest in the convex order (these are the worst pairs of
// Dong, Durfee and Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms",
// 2020). Let p and q be the probabilities of the first outcome under P and Q. The trade-off curve
// has one corner, and a Gaussian curve is below it if μ ≥ Φ⁻¹(p) − Φ⁻¹(q), where logit p − logit q
// = ε for every t. The slope of the probit as a function of the logit, Φ(z)Φ(−z)/φ(z) at z, is
// symmetric. It falls for z > 0, because its derivative has the sign of −k with k = φ·(2Φ−1) −
// z·Φ(z)Φ(−z), and k ≥ 0: k(0) = k(∞) = 0, and k' = 2φ² − Φ(z)Φ(−z) is positive at first and
// changes its sign once, because k" = φ·(2Φ−1−4zφ) does and k' tends to 0 from below. So the
// greatest μ is that of the symmetric pair, logit p = ε/2 = −logit q, randomised response with ε/2.
//
// The error is a *units.RangeError unless 0 ≤ ε ≤ budgets.MaxEpsilon.
func BoundedRangeToGDP(epsilon float64) (loss.GDP, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return loss.GDP{}, err
	}
	return PureToGDP(rounding.QuotientUp(epsilon, 2))
}
