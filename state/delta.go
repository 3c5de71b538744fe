package state

import (
	"math"
	"math/big"
)

// marginBits is the relative error, as a power of two, by which every δ is
// enlarged before it is rounded upward: far above the error of bigmath.go, far
// below the effect of one unit of B².
const marginBits = 140

// tinyLog bounds ln δ from below: under it every δ is reported as the least
// positive float64, an upper bound.
const tinyLog = -744

// certainLoss is the a = ε/μ − μ/2 below which δ is 1 for all purposes.
const certainLoss = -100

// hugeEpsilon caps ε inside formulas. δ falls with ε, so evaluating at the cap is
// an upper bound for everything behind it.
const hugeEpsilon = 1e9

// deltaUpper returns an upper bound of δ at ε for a mechanism of squared
// parameter μ² under the accountant, exact to a relative 2^-139 and at most 1.
// ε ≥ 0 and μ² ≥ 0 are finite; μ² is 0 or at least 2^-100.
func deltaUpper(mu2 *big.Float, epsilon float64, a Accountant) *big.Float {
	if mu2.Sign() == 0 {
		return scratch()
	}
	epsilon = min(epsilon, hugeEpsilon)
	var d *big.Float
	if a == GDP {
		d = gaussianDelta(mu2, newBig(epsilon))
	} else {
		d = zcdpDelta(mu2, epsilon)
	}
	margin := newBig(1)
	margin.Add(margin, scratch().SetMantExp(newBig(1), -marginBits))
	d.Mul(d, margin)
	if one := newBig(1); d.Cmp(one) > 0 {
		return one
	}
	if least := newBig(math.SmallestNonzeroFloat64); d.Cmp(least) < 0 {
		return least
	}
	return d
}

// gaussianDelta returns δ = Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2), the exact privacy
// curve of μ-GDP (Koskela, Tobaben and Honkela, Corollary C.2).
//
// With a = ε/μ − μ/2 and b = a + μ one has e^ε·φ(b) = φ(a), so that
// δ = φ(a)·(R(a) − R(b)) with the Mills ratio R: nothing overflows and nothing
// underflows, however far out in the tail.
func gaussianDelta(mu2, epsilon *big.Float) *big.Float {
	mu := scratch().Sqrt(mu2)
	half := scratch().Mul(mu, newBig(0.5))
	a := scratch().Quo(epsilon, mu)
	a.Sub(a, half)
	b := scratch().Add(a, mu)

	approx, _ := a.Float64()
	if approx > 0 && approx*approx/2 > -tinyLog {
		return scratch() // δ < Q(a) < e^(−a²/2); deltaUpper raises it to the floor
	}
	if approx < certainLoss {
		return newBig(1) // 1 − δ < 2·e^(−a²/2) < 2^-7000
	}
	if approx >= 1 {
		difference := scratch().Sub(mills(a), mills(b))
		return difference.Mul(difference, normalDensity(a))
	}
	second := scratch().Mul(normalDensity(a), mills(b))
	return second.Sub(upperTail(a), second)
}

// zcdpDelta returns inf over α > 1 of e^((α−1)(αρ−ε))/(α−1)·(1−1/α)^α at ρ = μ²/2,
// the best δ that ρ-zCDP implies through a Rényi order (Lemma C.4). The formula
// holds at every order, so the search for the best one may be done in float64: it
// costs tightness (a relative 1e-20), never validity.
func zcdpDelta(mu2 *big.Float, epsilon float64) *big.Float {
	rho := scratch().Mul(mu2, newBig(0.5))
	approx, _ := rho.Float64()
	t := bestOrder(approx, epsilon)
	if t == 0 {
		return newBig(1)
	}
	// With t = α − 1 the logarithm is t((1+t)ρ − ε) + t·ln t − (1+t)·ln(1+t).
	bt := newBig(t)
	alpha := scratch().Add(bt, newBig(1))
	exponent := scratch().Mul(alpha, rho)
	exponent.Sub(exponent, newBig(epsilon))
	exponent.Mul(exponent, bt)
	exponent.Add(exponent, scratch().Mul(bt, bigLog(bt)))
	exponent.Sub(exponent, scratch().Mul(alpha, bigLog(alpha)))

	if f, _ := exponent.Float64(); f < tinyLog {
		return scratch()
	} else if f >= 0 {
		return newBig(1)
	}
	return bigExp(exponent)
}

// bestOrder returns the α − 1 at which the bound of zcdpDelta is least: the zero
// of ρ(1+2t) − ε + ln(t/(1+t)), which increases with t. It returns 0 where the
// zero is so near to α = 1 that the bound is 1 for all purposes.
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

// roundUp returns the least float64 that is not below x, for x ≥ 0.
func roundUp(x *big.Float) float64 {
	f, accuracy := x.Float64()
	if accuracy == big.Below {
		f = math.Nextafter(f, math.Inf(1))
	}
	return f
}

// roundDown returns the greatest float64 that is not above x, for x ≥ 0.
func roundDown(x *big.Float) float64 {
	f, accuracy := x.Float64()
	if accuracy == big.Above {
		f = math.Nextafter(f, 0)
	}
	return f
}

// bigFromMu2 returns μ² exactly.
func bigFromMu2(m Mu2) *big.Float {
	x := scratch().SetUint64(uint64(m))
	return x.SetMantExp(x, -mu2Bits)
}
