package state

import (
	"math"
	"math/big"
)

// Budgets are inverted once, when a configuration is read, so their formulas can
// afford an arithmetic in which rounding is no question: 384 bits, of which the
// worst cancellation here costs about 70. Every function below is exact to a
// relative 2^-190 before cancellation on the domain that delta.go calls it on.
const workBits = 384

// rootTau is √(2π) to 120 decimals: 399 bits.
const rootTau = "2.506628274631000502415765284811045253006986740609938316629923576342293654607841974946595838378057266116009972665203879644"

func newBig(x float64) *big.Float { return new(big.Float).SetPrec(workBits).SetFloat64(x) }

func scratch() *big.Float { return new(big.Float).SetPrec(workBits) }

// bigExp returns e^x. The argument is halved until it is small and the result
// squared back: k halvings cost k bits. |x| stays below 2^26, so that the result's
// exponent fits.
func bigExp(x *big.Float) *big.Float {
	halvings := 16
	if e := x.MantExp(nil); e > 0 {
		halvings += e
	}
	small := scratch().SetMantExp(x, -halvings)
	sum, term := newBig(1), newBig(1)
	for n := 1; term.Sign() != 0 && term.MantExp(nil) > -workBits; n++ {
		term.Mul(term, small)
		term.Quo(term, newBig(float64(n)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigLog returns ln x for x > 0, by Newton's iteration on e^y from the float64
// logarithm: 50, 100, 200, 400 correct bits.
func bigLog(x *big.Float) *big.Float {
	mantissa := scratch()
	exponent := x.MantExp(mantissa)
	m, _ := mantissa.Float64()
	y := newBig(math.Log(m) + float64(exponent)*math.Ln2)
	for range 3 {
		ratio := bigExp(scratch().Neg(y))
		ratio.Mul(ratio, x) // x·e^-y = 1 + r
		ratio.Sub(ratio, newBig(1))
		square := scratch().Mul(ratio, ratio)
		square.Mul(square, newBig(0.5))
		y.Add(y, ratio.Sub(ratio, square))
	}
	return y
}

// normalDensity returns φ(x) = e^(-x²/2)/√(2π).
func normalDensity(x *big.Float) *big.Float {
	half := scratch().Mul(x, x)
	half.Mul(half, newBig(-0.5))
	root, _ := scratch().SetString(rootTau)
	return half.Quo(bigExp(half), root)
}

// millsSplit is where the series for Φ gives way to the continued fraction for
// its upper tail: the series loses bits to cancellation above it, the fraction
// converges slowly below.
const millsSplit = 5

// centralSeries returns (Φ(x) − 1/2)/φ(x) = Σ x^(2n+1)/(2n+1)!!. Terms of one
// sign, so nothing cancels inside.
func centralSeries(x *big.Float) *big.Float {
	square := scratch().Mul(x, x)
	sum, term := scratch().Set(x), scratch().Set(x)
	for n := 3; term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-workBits; n += 2 {
		term.Mul(term, square)
		term.Quo(term, newBig(float64(n)))
		sum.Add(sum, term)
	}
	return sum
}

// millsFraction returns R(x) = (1 − Φ(x))/φ(x) for x ≥ millsSplit by Laplace's
// continued fraction 1/(x + 1/(x + 2/(x + 3/(x + …)))), cut at depth n. Successive
// depths lie on opposite sides of R(x); the distance shrinks like e^(−2x√n).
func millsFraction(x *big.Float, depth int) *big.Float {
	t := scratch().Set(x)
	q := scratch()
	for k := depth; k >= 1; k-- {
		q.Quo(newBig(float64(k)), t)
		t.Add(x, q)
	}
	return t.Quo(newBig(1), t)
}

// millsDepth makes 2x√n ≥ 180, a relative error below 2^-220 with the floor of 60
// for arguments so large that this law is not reached.
func millsDepth(x *big.Float) int {
	f, _ := x.Float64()
	return 60 + int(math.Ceil(8100/(f*f)))
}

// upperTail returns 1 − Φ(x).
func upperTail(x *big.Float) *big.Float {
	f, _ := x.Float64()
	switch {
	case f >= millsSplit:
		return scratch().Mul(normalDensity(x), millsFraction(x, millsDepth(x)))
	case f <= -millsSplit:
		return scratch().Sub(newBig(1), upperTail(scratch().Neg(x)))
	}
	inner := scratch().Mul(normalDensity(x), centralSeries(x))
	return inner.Sub(newBig(0.5), inner)
}

// mills returns R(x) = (1 − Φ(x))/φ(x) for x > −millsSplit.
func mills(x *big.Float) *big.Float {
	if f, _ := x.Float64(); f >= millsSplit {
		return millsFraction(x, millsDepth(x))
	}
	return scratch().Quo(upperTail(x), normalDensity(x))
}
