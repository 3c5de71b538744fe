package bigmath

import (
	"math"
	"math/big"
)

// rootTau is √(2π) to 120 decimal places, or 399 bits.
const rootTau = "2.5066282746310005024157652848110452530069867406099383166299" +
	"23576342293654607841974946595838378057266116009972665203879644"

// NormalDensity returns φ(x) = e^(-x²/2)/√(2π).
func NormalDensity(x *big.Float) *big.Float {
	half := Zero().Mul(x, x)
	half.Mul(half, New(-0.5))
	root, _ := Zero().SetString(rootTau)
	return half.Quo(Exp(half), root)
}

// millsSplit is the argument at which the continued fraction for the upper tail replaces the series
// for Φ. Above it, the series loses bits to cancellation; below it, the fraction converges slowly.
const millsSplit = 5

// centralSeries returns (Φ(x) − 1/2)/φ(x) = Σ x^(2n+1)/(2n+1)!!. All terms have the same sign, so
// nothing cancels.
func centralSeries(x *big.Float) *big.Float {
	square := Zero().Mul(x, x)
	sum, term := Zero().Set(x), Zero().Set(x)
	for n := 3; term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-Bits; n += 2 {
		term.Mul(term, square)
		term.Quo(term, New(float64(n)))
		sum.Add(sum, term)
	}
	return sum
}

// millsFraction returns R(x) = (1 − Φ(x))/φ(x) for x ≥ millsSplit by Laplace's continued fraction
// 1/(x + 1/(x + 2/(x + 3/(x + …)))), truncated at depth n. The values at successive depths lie on
// opposite sides of R(x), and their distance shrinks like e^(−2x√n).
func millsFraction(x *big.Float, depth int) *big.Float {
	t := Zero().Set(x)
	q := Zero()
	for k := depth; k >= 1; k-- {
		q.Quo(New(float64(k)), t)
		t.Add(x, q)
	}
	return t.Quo(New(1), t)
}

// millsDepth returns a depth n for millsFraction. 2x√n ≥ 180 gives a relative error below 2^-220. n
// is at least 60, because this law does not apply yet to the smaller n of large arguments.
func millsDepth(x *big.Float) int {
	f, _ := x.Float64()
	return 60 + int(math.Ceil(8100/(f*f)))
}

// UpperTail returns 1 − Φ(x).
func UpperTail(x *big.Float) *big.Float {
	f, _ := x.Float64()
	switch {
	case f >= millsSplit:
		return Zero().Mul(NormalDensity(x), millsFraction(x, millsDepth(x)))
	case f <= -millsSplit:
		return Zero().Sub(New(1), UpperTail(Zero().Neg(x)))
	}
	inner := Zero().Mul(NormalDensity(x), centralSeries(x))
	return inner.Sub(New(0.5), inner)
}

// Mills returns R(x) = (1 − Φ(x))/φ(x) for x > −millsSplit.
func Mills(x *big.Float) *big.Float {
	if f, _ := x.Float64(); f >= millsSplit {
		return millsFraction(x, millsDepth(x))
	}
	return Zero().Quo(UpperTail(x), NormalDensity(x))
}
