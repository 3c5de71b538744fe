package reference

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
)

// scale returns r·2^n, a fresh value.
func scale(r *big.Rat, n int) *big.Rat {
	power := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(max(n, -n))))
	if n < 0 {
		return new(big.Rat).Quo(r, power)
	}
	return new(big.Rat).Mul(r, power)
}

func whole(n uint64) *big.Rat { return new(big.Rat).SetInt(bigOf(n)) }

func bigOf(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

// ceilShift rounds n·2^-40 up, for n ≥ 0, and overwrites n.
func ceilShift(n *big.Int) *big.Int { return n.Rsh(n.Add(n, roundUp), 40) }

var roundUp = big.NewInt(1<<40 - 1)

// floor returns ⌊r⌋ for r ≥ 0.
func floor(r *big.Rat) *big.Int { return new(big.Int).Quo(r.Num(), r.Denom()) }

// ceilRat returns ⌈r⌉ for r ≥ 0.
func ceilRat(r *big.Rat) *big.Int { return ceilDiv(r.Num(), r.Denom()) }

// ceilDiv returns ⌈a/b⌉ for a ≥ 0 and b > 0.
func ceilDiv(a, b *big.Int) *big.Int {
	sum := new(big.Int).Add(a, b)
	sum.Sub(sum, big.NewInt(1))
	return sum.Quo(sum, b)
}

func largerOf(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

func smallerOf(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return b
	}
	return a
}

// roundHalfEven rounds to the nearest integer, ties to the even one.
func roundHalfEven(r *big.Rat) int64 {
	doubled := scale(r, 1)
	below := new(big.Int).Div(r.Num(), r.Denom()) // toward −∞, as the denominator is positive
	twice := new(big.Rat).SetInt(new(big.Int).Add(new(big.Int).Lsh(below, 1), big.NewInt(1)))
	if order := doubled.Cmp(twice); order > 0 || order == 0 && below.Bit(0) == 1 {
		below.Add(below, big.NewInt(1))
	}
	return below.Int64()
}

// greatest returns the greatest integer that fits, by bisection: low fits, high does not, and every
// integer below one that fits, fits as well.
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
	above := new(big.Int).Lsh(big.NewInt(1), uint(v.BitLen()/n+1))
	return greatest(new(big.Int), above, func(r *big.Int) bool {
		return new(big.Int).Exp(r, big.NewInt(int64(n)), nil).Cmp(v) <= 0
	})
}

// rootOfTwo returns ⌊2^(i/n)·2^places⌋.
func rootOfTwo(i, n, places int) *big.Int {
	return integerRoot(new(big.Int).Lsh(big.NewInt(1), uint(i+n*places)), n)
}

// quantile returns the least multiple z of 2^-40 with 1 − Φ(z) ≤ p, for 0 < p ≤ 1/2.
func quantile(p *big.Rat) *big.Rat {
	limit := newReal().SetRat(p)
	below := greatest(big.NewInt(-1), new(big.Int).Lsh(big.NewInt(16), 40), func(z *big.Int) bool {
		tail := newReal().SetMantExp(newReal().SetInt(z), -40)
		return normal(tail.Neg(tail)).Cmp(limit) > 0
	})
	return scale(new(big.Rat).SetInt(below.Add(below, big.NewInt(1))), -40)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
