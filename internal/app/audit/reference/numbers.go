package reference

import (
	"math/big"
)

func rat(n int64) *big.Rat        { return new(big.Rat).SetInt64(n) }
func ratOf(n *big.Int) *big.Rat   { return new(big.Rat).SetInt(n) }
func add(a, b *big.Rat) *big.Rat  { return new(big.Rat).Add(a, b) }
func sub(a, b *big.Rat) *big.Rat  { return new(big.Rat).Sub(a, b) }
func mul(a, b *big.Rat) *big.Rat  { return new(big.Rat).Mul(a, b) }
func quo(a, b *big.Rat) *big.Rat  { return new(big.Rat).Quo(a, b) }
func square(a *big.Rat) *big.Rat  { return mul(a, a) }
func exactRat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
func bigOf(n uint64) *big.Int     { return new(big.Int).SetUint64(n) }
func power(exponent int) *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(exponent)) }
func ceil(r *big.Rat) *big.Int    { return ceilDiv(r.Num(), r.Denom()) }
func floor(r *big.Rat) *big.Int   { return new(big.Int).Div(r.Num(), r.Denom()) }
func nearest(r *big.Rat) int64    { return floor(add(r, big.NewRat(1, 2))).Int64() }

// scale returns r·2^n.
func scale(r *big.Rat, n int) *big.Rat {
	if n < 0 {
		return quo(r, ratOf(power(-n)))
	}
	return mul(r, ratOf(power(n)))
}

// between clamps x to [low, high].
func between(low, x, high *big.Rat) *big.Rat {
	switch {
	case x.Cmp(low) < 0:
		return low
	case x.Cmp(high) > 0:
		return high
	}
	return x
}

// rootOf returns √x.
func rootOf(x *big.Rat) float64 {
	f, _ := new(big.Float).SetPrec(128).Sqrt(new(big.Float).SetPrec(128).SetRat(x)).Float64()
	return f
}

// ceilDiv returns ⌈a/b⌉ for b > 0.
func ceilDiv(a, b *big.Int) *big.Int {
	sum := new(big.Int).Add(a, b)
	return sum.Div(sum.Sub(sum, big.NewInt(1)), b)
}

// roundHalfEven rounds to the nearest integer, ties to even.
func roundHalfEven(r *big.Rat) int64 {
	up := add(r, big.NewRat(1, 2))
	n := floor(up).Int64()
	if n&1 == 1 && up.IsInt() {
		n--
	}
	return n
}

// greatest returns the greatest integer that fits, by bisection. low must fit, high must not, and
// every integer between low and a fitting one must fit.
func greatest(low, high *big.Int, fits func(*big.Int) bool) *big.Int {
	for {
		middle := new(big.Int).Add(low, high)
		middle.Rsh(middle, 1)
		if middle.Cmp(low) == 0 {
			return low
		}
		if fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
}

// integerRoot returns the greatest integer r ≥ 0 with r^n ≤ v.
func integerRoot(v *big.Int, n int) *big.Int {
	return greatest(new(big.Int), power(v.BitLen()/n+1), func(r *big.Int) bool {
		return new(big.Int).Exp(r, big.NewInt(int64(n)), nil).Cmp(v) <= 0
	})
}

// rootOfTwo returns ⌊2^(i/n)·2^places⌋.
func rootOfTwo(i, n, places int) *big.Int {
	return integerRoot(power(i+n*places), n)
}

// quantile returns the least multiple z of 2^-40 with 1 − Φ(z) ≤ p, for 0 < p ≤ 1/2.
func quantile(p *big.Rat) *big.Rat {
	limit := newReal().SetRat(p)
	below := greatest(big.NewInt(-1), new(big.Int).Lsh(big.NewInt(16), 40), func(z *big.Int) bool {
		tail := newReal().SetMantExp(newReal().SetInt(z), -40)
		return normal(tail.Neg(tail)).Cmp(limit) > 0
	})
	return scale(ratOf(below.Add(below, big.NewInt(1))), -40)
}

// tailOf returns 1/n of the probability of one tail outside an interval with the given confidence.
func tailOf(confidence float64, n int64) *big.Rat {
	return quo(sub(rat(1), exactRat(confidence)), rat(2*n))
}
