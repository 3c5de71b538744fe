package noisereduction

import (
	"math"
	"math/big"
)

// halfWidth returns half of the width of the interval that is printed with a value of the precision
// inUnits (of 2^-80), in units of 2^-10: ⌈width·σ·2^10⌉ with σ = 2^40/√inUnits, and one more for
// the rounding of the value and of its noise. width is in standard deviations: see Plan.Width.
func halfWidth(width *big.Rat, inUnits *big.Int) int64 {
	square := new(big.Rat).Mul(width, width)
	square.Quo(shifted(square, precisionBits+2*valueBits), new(big.Rat).SetInt(inUnits))
	return rootCeil(square).Int64() + 1
}

// Width returns half of the width of printed intervals, in standard deviations of the estimate
// within. A fresh number.
func (p *Plan) Width() *big.Rat { return new(big.Rat).Set(p.width) }

// MeetableFrom returns the least count whose target can be met within Top, in
// the middle of the noise: 0 where the absolute target is within reach,
// +Inf where there is no target. For display.
func (p *Plan) MeetableFrom() float64 {
	switch {
	case p.floorMet:
		return 0
	case p.spec.Target.Relative == 0:
		return math.Inf(1)
	}
	return p.Within() / p.spec.Target.Relative
}

// Within returns the least absolute error, at the confidence of the target, that a release at Top
// can meet, in the unit of the count. For display.
func (p *Plan) Within() float64 {
	z, _ := new(big.Float).SetInt(p.z).Float64()
	return math.Ldexp(z, -quantileBits) * deviationOf(p.spec.Top.Big()) / p.kappa
}
