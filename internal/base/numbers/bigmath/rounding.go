package bigmath

import (
	"math"
	"math/big"
)

// marginBits gives the relative margin of Upward, 2^-marginBits. It is far above the error of the
// arithmetic, and far below one unit of a float64 or of a budget.
const marginBits = 140

// Up returns 0 as a number with Bits bits that rounds every result stored in it towards +Inf.
func Up() *big.Float { return Zero().SetMode(big.ToPositiveInf) }

// Down returns 0 as a number with Bits bits that rounds every result stored in it towards -Inf.
func Down() *big.Float { return Zero().SetMode(big.ToNegativeInf) }

// Square returns exactly x².
func Square(x float64) *big.Float { return Zero().Mul(New(x), New(x)) }

// Half returns exactly x/2.
func Half(x *big.Float) *big.Float { return Zero().Mul(x, New(0.5)) }

// Margin returns 2^-140·|x|, the amount that Upward adds to x.
func Margin(x *big.Float) *big.Float {
	return Zero().SetMantExp(Zero().Abs(x), -marginBits)
}

// Upward returns an upper bound on the probability that p approximates with a relative error below
// 2^-141. It is p plus a relative 2^-140, but at most 1 and at least the least positive float64.
// Upward overwrites p.
func Upward(p *big.Float) *big.Float {
	margin := New(1)
	margin.Add(margin, Zero().SetMantExp(New(1), -marginBits))
	p.Mul(p, margin)
	if one := New(1); p.Cmp(one) > 0 {
		return one
	}
	if least := New(math.SmallestNonzeroFloat64); p.Cmp(least) < 0 {
		return least
	}
	return p
}

// RoundUp returns the least float64 that is not below x, or +Inf if there is none.
func RoundUp(x *big.Float) float64 {
	f, accuracy := x.Float64()
	if accuracy == big.Below {
		f = math.Nextafter(f, math.Inf(1))
	}
	return f
}

// RoundDown returns the greatest float64 that is not above x, or -Inf if there is none.
func RoundDown(x *big.Float) float64 {
	f, accuracy := x.Float64()
	if accuracy == big.Above {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return f
}

// RootUp returns √x rounded up, for x ≥ 0. The computed root is exact to a relative 2^-383. If the
// square of the rounded root is below x, RootUp takes the next float64.
func RootUp(x *big.Float) float64 {
	f := RoundUp(Zero().Sqrt(x))
	if Square(f).Cmp(x) < 0 {
		f = math.Nextafter(f, math.Inf(1))
	}
	return f
}
