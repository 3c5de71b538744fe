package bigmath

import (
	"math"
	"math/big"
)

// QuantileAbove returns an upper bound z on Φ⁻¹(1 − p), the upper quantile of the normal
// distribution, so that 1 − Φ(z) ≤ p. z is exact to about 2^-138 of 1 + |z|. p must be between 0
// and 1; if it is closer to 1 than 2^-190, negate the quantile of 1 − p instead.
func QuantileAbove(p *big.Float) *big.Float { return quantile(p, 1) }

// quantile returns a bound on the quantile: from above for side 1, from below for side −1. It moves
// the result of Newton's iteration to that side until the tail proves that it is there.
func quantile(p *big.Float, side int) *big.Float {
	if p.Cmp(New(0.5)) > 0 {
		// The upper tail at −z is 1 − p.
		z := quantile(Zero().Sub(New(1), p), -side)
		return z.Neg(z)
	}
	z := upperQuantile(p)
	step := Margin(Zero().Add(z, New(1)))
	if side < 0 {
		step.Neg(step)
	}
	// A tail is exact to a relative 2^-190, which this factor covers.
	factor := New(1)
	factor.Add(factor, Zero().SetMantExp(New(float64(side)), -150))
	bound := Zero()
	for {
		z.Add(z, step)
		if bound.Mul(UpperTail(z), factor).Cmp(p) == -side || bound.Cmp(p) == 0 {
			return z
		}
		step.Add(step, step)
	}
}

// upperQuantile returns a z with 1 − Φ(z) near p ≤ 1/2, by Newton's iteration on the logarithm of
// the tail, which is concave. From the second step on, z falls to the solution, and the error
// squares.
func upperQuantile(p *big.Float) *big.Float {
	logP := Log(p)
	z := New(quantileStart(p, logP))
	for range 60 {
		step := Log(UpperTail(z))
		step.Sub(step, logP)
		step.Mul(step, Mills(z))
		z.Add(z, step)
		if step.Sign() == 0 || step.MantExp(nil) < -100 {
			break
		}
	}
	return z
}

// quantileStart returns a float64 near the solution. It uses the inverse error function if that is
// accurate, and otherwise z² ≈ 2·ln(1/p) − ln(4π·ln(1/p)).
func quantileStart(p, logP *big.Float) float64 {
	if f, _ := p.Float64(); f > 1e-9 {
		return math.Sqrt2 * math.Erfcinv(2*f)
	}
	l, _ := logP.Float64()
	return math.Sqrt(-2*l - math.Log(-4*math.Pi*l))
}
