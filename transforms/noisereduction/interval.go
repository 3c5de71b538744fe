package noisereduction

import (
	"math"
	"math/big"
)

// halfWidth returns half the width of the interval that is printed with a value, in units of 2^-10:
// ⌈width·σ·2^10⌉, plus one for the rounding of the value and of its noise. inUnits is the precision
// in units of 2^-80, so σ = 2^40/√inUnits. width is in standard deviations: see Plan.Width.
func halfWidth(width *big.Rat, inUnits *big.Int) int64 {
	square := new(big.Rat).Mul(width, width)
	square.Quo(shifted(square, precisionBits+2*valueBits), new(big.Rat).SetInt(inUnits))
	return rootCeil(square).Int64() + 1
}

// Width returns half the width of an interval, in standard deviations of the estimate. With this
// width, the given number of simultaneous intervals all hold with the target's confidence (union
// bound). For the interval printed with a value, the number is 1. Width takes about a millisecond.
func (p *Plan) Width(simultaneous int) *big.Rat {
	return new(big.Rat).Mul(quantileOf(p.spec.Target.Confidence, simultaneous), p.widen)
}

// quantileOf returns the two-sided quantile for simultaneous intervals with a confidence.
func quantileOf(confidence float64, simultaneous int) *big.Rat {
	tail := new(big.Rat).SetFloat64(confidence)
	tail.Sub(big.NewRat(1, 1), tail)
	z := upperQuantile(tail.Quo(tail, big.NewRat(int64(2*simultaneous), 1)))
	return new(big.Rat).SetFrac(z, new(big.Int).Lsh(big.NewInt(1), quantileBits))
}

// MeetableFrom returns the least count for which Top meets the target with median noise. It is 0 if
// Top meets the absolute target, and +Inf if it does not and there is no relative target. For
// display.
func (p *Plan) MeetableFrom() float64 {
	switch {
	case p.floorMet:
		return 0
	case p.spec.Target.Relative == 0:
		return math.Inf(1)
	}
	return p.Within() / p.spec.Target.Relative
}

// Within returns the least absolute error that a release at Top can guarantee with the target's
// confidence, in the unit of the count. For display.
func (p *Plan) Within() float64 {
	z, _ := p.z.Float64()
	return z * deviationOf(p.spec.Top.Big()) / p.kappa
}
