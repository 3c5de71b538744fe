package noisereduction

import (
	"math"
	"math/big"
	"sort"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/search"
)

const quantileBits = 40 // quantiles count units of 2^-40

// upperQuantile returns the least multiple z of 2^-40, in units of 2^-40, with 1 − Φ(z) ≤ p, for
// 2^-128 ≤ p ≤ 1/2. It inverts the tail by a search that starts from a float64 estimate.
// math.Erfcinv would be 11% off at 1e-16 and infinite at 1e-17, and its last bits differ between
// machines.
func upperQuantile(p *big.Rat) *big.Int {
	limit := bigmath.Zero().SetRat(p)
	covered := func(z uint64) bool { return upperTail(new(big.Int).SetUint64(z)).Cmp(limit) <= 0 }
	if covered(0) {
		return new(big.Int)
	}
	const last = 16 << quantileBits
	estimate, _ := limit.Float64()
	start := sort.Search(last, func(z int) bool {
		return math.Erfc(math.Ldexp(float64(z), -quantileBits)/math.Sqrt2)/2 <= estimate
	})
	return new(big.Int).SetUint64(search.Least(0, last, uint64(start), covered))
}

// upperTail returns 1 − Φ(z·2^-40).
func upperTail(z *big.Int) *big.Float {
	x := bigmath.Zero().SetInt(z)
	return bigmath.UpperTail(x.SetMantExp(x, -quantileBits))
}

// rootsOfTwo returns ⌊2^(i/n)·2^62⌋ for 0 ≤ i < n.
func rootsOfTwo(n int) []int64 {
	root := bigmath.New(1 + 0.69/float64(n))
	for range 12 { // Newton's method for x^n = 2: correct bits double from 8
		power := bigmath.New(1)
		for range n - 1 {
			power.Mul(power, root)
		}
		next := bigmath.Zero().Quo(bigmath.New(2), power)
		root.Mul(root, bigmath.New(float64(n-1)))
		root.Add(root, next)
		root.Quo(root, bigmath.New(float64(n)))
	}
	roots := make([]int64, n)
	power := bigmath.New(1)
	for i := range roots {
		roots[i], _ = bigmath.Zero().SetMantExp(power, 62).Int64()
		power.Mul(power, root)
	}
	return roots
}

// rootCeil returns ⌈√x⌉ of a rational x ≥ 0.
func rootCeil(x *big.Rat) *big.Int {
	v := ceil(x)
	root := new(big.Int).Sqrt(v)
	if new(big.Int).Mul(root, root).Cmp(v) < 0 {
		root.Add(root, big.NewInt(1))
	}
	return root
}

// ceil returns ⌈x⌉ of a rational x ≥ 0.
func ceil(x *big.Rat) *big.Int {
	v, remainder := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	if remainder.Sign() != 0 {
		v.Add(v, big.NewInt(1))
	}
	return v
}

// shifted returns x·2^n.
func shifted(x *big.Rat, n int) *big.Rat {
	power := new(big.Int).Lsh(big.NewInt(1), uint(max(n, -n)))
	if n < 0 {
		return new(big.Rat).Quo(x, new(big.Rat).SetInt(power))
	}
	return new(big.Rat).Mul(x, new(big.Rat).SetInt(power))
}
