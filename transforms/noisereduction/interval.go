package noisereduction

import (
	"math"
	"math/big"
)

// halfWidth returns half the width of the interval that is printed with a value, in units of 2^-10:
// ⌈width·σ·2^10⌉, and one more for the rounding of the value and of its noise. The precision
// inUnits is in units of 2^-80, so that σ = 2^40/√inUnits. width is in standard deviations: see
// Plan.Width.
func halfWidth(width *big.Rat, inUnits *big.Int) int64 {
	square := new(big.Rat).Mul(width, width)
	square.Quo(shifted(square, precisionBits+2*valueBits), new(big.Rat).SetInt(inUnits))
	return rootCeil(square).Int64() + 1
}

// Width returns half the width of an interval, in standard deviations of the estimate, such that
// `together` intervals all hold with the target's confidence (union bound). The interval printed
// with a value has together = 1. It takes about a millisecond.
func (p *Plan) Width(together int) *big.Rat {
	return new(big.Rat).Mul(quantileOf(p.spec.Target.Confidence, together), p.widen)
}

// quantileOf returns the two-sided quantile with which `together` intervals hold with a confidence.
func quantileOf(confidence float64, together int) *big.Rat {
	tail := new(big.Rat).SetFloat64(confidence)
	tail.Sub(big.NewRat(1, 1), tail)
	z := upperQuantile(tail.Quo(tail, big.NewRat(int64(2*together), 1)))
	return new(big.Rat).SetFrac(z, new(big.Int).Lsh(big.NewInt(1), quantileBits))
}

// MeetableFrom returns the least count for which Top meets the target with median noise: 0 if it
// meets the absolute target, +Inf if it does not and there is no relative target. For display.
func (p *Plan) MeetableFrom() float64 {
	switch {
	case p.floorMet:
		return 0
	case p.spec.Target.Relative == 0:
		return math.Inf(1)
	}
	return p.Within() / p.spec.Target.Relative
}

// Within returns the least absolute error that a release at Top can guarantee, with the target's
// confidence and in the unit of the count. For display.
func (p *Plan) Within() float64 {
	z, _ := p.z.Float64()
	return z * deviationOf(p.spec.Top.Big()) / p.kappa
}
