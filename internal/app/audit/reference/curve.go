package reference

import "math/big"

// The normal distribution is computed in 320-bit arithmetic: slowly, but without the cancellation
// and the library functions whose errors a float64 implementation must bound.

const curveBits = 320

func real64(x float64) *big.Float { return new(big.Float).SetPrec(curveBits).SetFloat64(x) }

func newReal() *big.Float { return new(big.Float).SetPrec(curveBits) }

// exp returns e^x: the Taylor series at x/2^k, squared k times.
func exp(x *big.Float) *big.Float {
	const halvings = 24
	small := newReal().SetMantExp(x, -halvings)
	sum, term := real64(1), real64(1)
	for n := 1; n < 40; n++ {
		term.Mul(term, small)
		term.Quo(term, real64(float64(n)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// normal returns Φ(x) = ½ + φ(x)·Σ x^(2n+1)/(1·3·…·(2n+1)).
func normal(x *big.Float) *big.Float {
	if x.Sign() < 0 {
		return newReal().Sub(real64(1), normal(newReal().Neg(x)))
	}
	square := newReal().Mul(x, x)
	sum, term := newReal().Set(x), newReal().Set(x)
	for n := 1; term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-curveBits; n++ {
		term.Mul(term, square)
		term.Quo(term, real64(float64(2*n+1)))
		sum.Add(sum, term)
	}
	// 1/√(2π), to 100 digits.
	density, _, _ := big.ParseFloat(
		"0.3989422804014326779399460599343818684758586311649346576659258296706579258993018385012523339073069364", 10,
		curveBits, big.ToNearestEven)
	density.Mul(density, exp(newReal().Neg(newReal().SetMantExp(square, -1))))
	return sum.Add(sum.Mul(sum, density), real64(0.5))
}
