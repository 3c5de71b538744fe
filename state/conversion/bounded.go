package conversion

import (
	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// BoundedRangeToZCDP returns a ρ for which every ε-bounded range mechanism is ρ-zCDP,
// rounded up: the lesser of ε²/8 and what PureToZCDP returns.
//
// A mechanism has ε-bounded range (Durfee and Rogers, "Practical Differentially Private
// Top-k Selection with Pay-what-you-get Composition", 2019) where, for any two
// neighbouring inputs, its privacy losses lie in an interval of length ε. As 0 is in that
// interval it is ε-DP, and ε-DP is 2ε-bounded range. The exponential mechanism of ε-DP has
// ε-bounded range (shown there), and so for small ε a quarter of the ρ of ε-DP as such.
//
// ε²/8 is of Cesar and Rogers, "Bounding, Concentrating, and Truncating: Unifying Privacy
// Loss Composition for Data Analytics" (2021). With L = ln P/Q, K(s) = ln E_Q e^(sL)
// is 0 at 0 and at 1, and its second derivative is the variance of L under a tilted law,
// which is at most ε²/4 on an interval of length ε. Hence
// (α−1)·D_α = K(α) ≤ α(α−1)/2 · ε²/4. It is tight for small ε; for ε = 1
// no pair has more than 0.987 of it, for ε = 5 than 0.774 (Harrison and Manurangsi, "Exact
// zCDP Characterizations for Fundamental Differentially Private Mechanisms", 2026, have the
// least ρ, which is not computed here).
//
// 0 ≤ ε ≤ budgets.MaxEpsilon; the error is a *units.RangeError.
func BoundedRangeToZCDP(epsilon float64) (loss.ZCDP, error) {
	pure, err := PureToZCDP(epsilon)
	if err != nil {
		return loss.ZCDP{}, err
	}
	eighth := rounding.ProductUp(rounding.ProductUp(epsilon, epsilon), 0.125)
	return loss.ZCDP{Rho: min(pure.Rho, eighth)}, nil
}

// BoundedRangeToGDP returns the least μ for which ε-bounded range (see
// BoundedRangeToZCDP) is μ-GDP, rounded up: what PureToGDP returns for ε/2.
//
// A pair whose losses lie in [t−ε, t] is a processing of the pair on two outcomes whose
// losses are t and t−ε: the ratio P/Q has mean 1 under Q, and of all laws of mean 1 on an
// interval the one on its ends is the greatest in the convex order (these are the worst
// pairs of Dong, Durfee and Rogers, "Optimal Differential Privacy Composition for
// Exponential Mechanisms", 2020). Let P and Q give the first outcome the
// probabilities p and q: the curve has one corner, and a Gaussian one is below it from
// μ = Φ⁻¹(p) − Φ⁻¹(q) on, where logit p − logit q = ε whatever t is. The slope of the
// probit as a function of the logit, Φ(z)Φ(−z)/φ(z) at z, is symmetric and falls for z > 0:
// its derivative has the sign of −k, k = φ·(2Φ−1) − z·Φ(z)Φ(−z), where k(0) = k(∞) = 0 and
// k' = 2φ² − Φ(z)Φ(−z) is positive first and changes its sign once, as
// k" = φ·(2Φ−1−4zφ) does and k' ends at 0 from below. So k ≥ 0, and the greatest μ is that
// of the symmetric pair, logit p = ε/2 = −logit q: randomised response of ε/2.
//
// 0 ≤ ε ≤ budgets.MaxEpsilon; the error is a *units.RangeError.
func BoundedRangeToGDP(epsilon float64) (loss.GDP, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return loss.GDP{}, err
	}
	return PureToGDP(rounding.QuotientUp(epsilon, 2))
}
