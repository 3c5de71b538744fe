package noisereduction

import (
	"math"
	"math/big"
	"sort"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/search"
)

const (
	quantileBits = 40  // quantiles count units of 2^-40
	workBits     = 384 // bits of the arithmetic that finds them
)

// piDigits has 120 decimals, 398 bits.
const piDigits = "3.14159265358979323846264338327950288419716939937510582097494" +
	"459230781640628620899862803482534211706798214808651328230664709"

func float(x float64) *big.Float { return new(big.Float).SetPrec(workBits).SetFloat64(x) }

// upperQuantile returns the least multiple z of 2^-40, in those units, with 1 − Φ(z) ≤ p, for
// 2^-128 ≤ p ≤ 1/2. It searches the tail itself with more digits than any p in range can cancel,
// instead of an inverse error function in float64: math.Erfcinv is 11 % off at 1e-16 and infinite
// at 1e-17, and differs between machines in its last bits. The search starts from a float64
// estimate.
func upperQuantile(p *big.Rat) *big.Int {
	limit := new(big.Float).SetPrec(workBits).SetRat(p)
	within := func(z uint64) bool { return upperTail(new(big.Int).SetUint64(z)).Cmp(limit) <= 0 }
	if within(0) {
		return new(big.Int)
	}
	const last = 16 << quantileBits
	rough, _ := limit.Float64()
	start := sort.Search(last, func(z int) bool {
		return math.Erfc(math.Ldexp(float64(z), -quantileBits)/math.Sqrt2)/2 <= rough
	})
	return new(big.Int).SetUint64(search.Least(0, last, uint64(start), within))
}

// upperTail returns 1 − Φ(z·2^-40) = 1/2 − φ(x)·Σ x^(2n+1)/(2n+1)!! for 0 ≤ x ≤ 16. All terms have
// one sign; the final difference cancels at most 190 of 384 bits.
func upperTail(z *big.Int) *big.Float {
	x := new(big.Float).SetPrec(workBits).SetInt(z)
	x.SetMantExp(x, -quantileBits)
	square := float(0).Mul(x, x)
	sum, term := float(0).Set(x), float(0).Set(x)
	for n := 3; term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-workBits; n += 2 {
		term.Mul(term, square)
		term.Quo(term, float(float64(n)))
		sum.Add(sum, term)
	}
	sum.Quo(sum, expHalf(square))
	pi, _, _ := big.ParseFloat(piDigits, 10, workBits, big.ToNearestEven)
	sum.Quo(sum, pi.Sqrt(pi.Mul(pi, float(2))))
	return sum.Sub(float(0.5), sum)
}

// expHalf returns e^(v/2) for 0 ≤ v ≤ 256: the series at v/2^17, squared 16 times.
func expHalf(v *big.Float) *big.Float {
	const squarings = 16
	small := float(0).SetMantExp(v, -squarings-1)
	sum, term := float(1), float(1)
	for n := 1; n < 50; n++ {
		term.Mul(term, small)
		term.Quo(term, float(float64(n)))
		sum.Add(sum, term)
	}
	for range squarings {
		sum.Mul(sum, sum)
	}
	return sum
}

// rootsOfTwo returns ⌊2^(i/n)·2^62⌋ for 0 ≤ i < n.
func rootsOfTwo(n int) []int64 {
	root := float(1 + 0.69/float64(n))
	for range 12 { // Newton on x^n = 2, doubling 8 correct bits each time
		power := float(1)
		for range n - 1 {
			power.Mul(power, root)
		}
		next := float(0).Quo(float(2), power)
		root.Mul(root, float(float64(n-1)))
		root.Add(root, next)
		root.Quo(root, float(float64(n)))
	}
	roots := make([]int64, n)
	power := float(1)
	for i := range roots {
		roots[i], _ = float(0).SetMantExp(power, 62).Int64()
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
	v, rest := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	if rest.Sign() != 0 {
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
