package bigmath

import "math/big"

// tinyLog is the least ln δ that is computed. A smaller δ counts as 0 here, and Upward raises it to
// the least positive float64, which is an upper bound.
const tinyLog = -745

// certainLoss is the value of a = ε/μ − μ/2 below which δ is effectively 1.
const certainLoss = -100

// GaussianDelta returns δ = Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2), the exact privacy curve of μ-GDP
// (Koskela, Tobaben and Honkela, Corollary C.2; Balle and Wang, 2018, Theorem 8), for 2^-100 ≤ μ² ≤
// 2^64 and 0 ≤ ε ≤ 1e9; 0 if it is below the least positive float64.
//
// With a = ε/μ − μ/2 and b = a + μ, e^ε·φ(b) = φ(a), and so δ = φ(a)·(R(a) − R(b)), where R is the
// Mills ratio. In this form nothing overflows or underflows, however far out in the tail.
func GaussianDelta(mu2, epsilon *big.Float) *big.Float {
	mu := Zero().Sqrt(mu2)
	half := Zero().Mul(mu, New(0.5))
	a := Zero().Quo(epsilon, mu)
	a.Sub(a, half)
	b := Zero().Add(a, mu)

	approx, _ := a.Float64()
	if approx > 0 && approx*approx/2 > -tinyLog {
		return Zero() // δ < Q(a) < e^(−a²/2)
	}
	if approx < certainLoss {
		return New(1) // 1 − δ < 2·e^(−a²/2) < 2^-7000
	}
	if approx >= 1 {
		difference := Zero().Sub(Mills(a), Mills(b))
		return difference.Mul(difference, NormalDensity(a))
	}
	second := Zero().Mul(NormalDensity(a), Mills(b))
	return second.Sub(UpperTail(a), second)
}

// RenyiDelta returns min(1, e^(t(γ−ε))·t^t/(1+t)^(1+t)), the δ at ε that a Rényi divergence of at
// most γ at the order α = 1 + t implies (Canonne, Kamath and Steinke, 2020, Proposition 12;
// Koskela, Tobaben and Honkela, Lemma C.4). It returns 0 if that is below the least positive
// float64. t > 0, γ ≥ 0 and ε ≥ 0 must be finite. The result is exact to a relative 2^-150 as long
// as t·max(γ, ε) is below 2^100, or the result is 0 or 1.
func RenyiDelta(t, gamma, epsilon *big.Float) *big.Float {
	alpha := Zero().Add(t, New(1))
	exponent := Zero().Sub(gamma, epsilon)
	exponent.Mul(exponent, t)
	exponent.Add(exponent, Zero().Mul(t, Log(t)))
	exponent.Sub(exponent, Zero().Mul(alpha, Log(alpha)))

	if f, _ := exponent.Float64(); f < tinyLog {
		return Zero()
	} else if f >= 0 {
		return New(1)
	}
	return Exp(exponent)
}
