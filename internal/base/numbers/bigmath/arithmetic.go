package bigmath

import (
	"math"
	"math/big"
)

// Bits is the precision of every number here, in bits. A privacy curve loses at most about 70 bits
// to cancellation. Every function in this file is exact to a relative 2^-190 before cancellation.
const Bits = 384

// New returns exactly x with Bits bits. x must not be NaN.
func New(x float64) *big.Float { return new(big.Float).SetPrec(Bits).SetFloat64(x) }

// Zero returns 0 with Bits bits, to receive a result that is rounded to nearest.
func Zero() *big.Float { return new(big.Float).SetPrec(Bits) }

// Power returns x^n, to a relative (n + 1)·2^-384.
func Power(x *big.Float, n int) *big.Float {
	power := New(1)
	for range n {
		power.Mul(power, x)
	}
	return power
}

// Exp returns e^x. It halves the argument until it is small, and squares the result as often; k
// halvings cost k bits. |x| must be below 2^26, so that the exponent of the result fits.
func Exp(x *big.Float) *big.Float {
	halvings := 16
	if e := x.MantExp(nil); e > 0 {
		halvings += e
	}
	small := Zero().SetMantExp(x, -halvings)
	sum, term := New(1), New(1)
	for n := 1; term.Sign() != 0 && term.MantExp(nil) > -Bits; n++ {
		term.Mul(term, small)
		term.Quo(term, New(float64(n)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// Expm1 returns e^x − 1, exact to a relative 2^-190 even for tiny x. |x| must be below 2^26.
func Expm1(x *big.Float) *big.Float {
	if x.MantExp(nil) > -1 {
		return Zero().Sub(Exp(x), New(1))
	}
	sum, term := Zero().Set(x), Zero().Set(x)
	for n := 2; term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-Bits; n++ {
		term.Mul(term, x)
		term.Quo(term, New(float64(n)))
		sum.Add(sum, term)
	}
	return sum
}

// Log returns ln x for x > 0. It uses Newton's iteration on e^y, which begins with the float64
// logarithm: 50, 100, 200, 400 correct bits.
func Log(x *big.Float) *big.Float {
	mantissa := Zero()
	exponent := x.MantExp(mantissa)
	m, _ := mantissa.Float64()
	y := New(math.Log(m) + float64(exponent)*math.Ln2)
	for range 3 {
		ratio := Exp(Zero().Neg(y))
		ratio.Mul(ratio, x) // x·e^-y = 1 + r
		ratio.Sub(ratio, New(1))
		square := Zero().Mul(ratio, ratio)
		square.Mul(square, New(0.5))
		y.Add(y, ratio.Sub(ratio, square))
	}
	return y
}
