package mechanisms

import (
	"errors"
	"math"
	"math/bits"
)

// ErrDigits is returned for noise so large that its probability is below e^-4096. Such noise means
// that the source of randomness is broken. Nothing is released.
var ErrDigits = errors.New(
	"drawing noise: the result is too improbable for random digits; check the source of randomness")

// uniform draws an integer in [0, m) by rejection, m > 0.
func uniform(m uint64, src Source) uint64 {
	for {
		hi, lo := bits.Mul64(src.Word(), m)
		if lo >= -m%m {
			return hi
		}
	}
}

// ratio returns true with probability min(1, n/d), d > 0. It compares a uniform real number with
// n/d, digit by digit until they differ.
func ratio(n, d uint64, src Source) bool {
	if n >= d {
		return true
	}
	for {
		digit, remainder := bits.Div64(n, 0, d)
		if w := src.Word(); w != digit {
			return w < digit
		}
		if remainder == 0 {
			return false
		}
		n = remainder
	}
}

// expFraction returns true with probability exp(−n/d), n ≤ d: Algorithm 1 of Canonne, Kamath and
// Steinke, "The Discrete Gaussian for Differential Privacy" (2020). For γ = n/d, a run of successes
// with probabilities γ/1, γ/2, … has length at least k with probability γ^k/k!. Hence its length is
// even with probability exp(−γ).
func expFraction(n, d uint64, src Source) bool {
	for k := uint64(1); ; k++ {
		if !ratio(n, d, src) || !ratio(1, k, src) {
			return k&1 == 1
		}
	}
}

// expMinusProduct returns true with probability exp(−x·y/d). The product may have 128 bits.
func expMinusProduct(x, y, d uint64, src Source) bool {
	hi, lo := bits.Mul64(x, y)
	whole, remainder := uint64(math.MaxUint64), uint64(0) // beyond this range e^-2^64 is 0
	if hi < d {
		whole, remainder = bits.Div64(hi, lo, d)
	}
	for range whole {
		if !expFraction(1, 1, src) {
			return false
		}
	}
	return expFraction(remainder, d, src)
}

// maxBlocks is the maximum number of blocks in a draw of geometric. More have probability e^-4096.
const maxBlocks = 4096

// geometric draws Y ≥ 0 with P(Y = y) proportional to exp(−y/t), which is the magnitude in
// Algorithm 2 of Canonne, Kamath and Steinke. It requires t ≥ 1, and 4096·t < 2^63.
func geometric(t uint64, src Source) (uint64, error) {
	var low uint64
	for {
		if low = uniform(t, src); expFraction(low, t, src) {
			break
		}
	}
	for blocks := uint64(0); blocks < maxBlocks; blocks++ {
		if !expFraction(1, 1, src) {
			return blocks*t + low, nil
		}
	}
	return 0, ErrDigits
}

// twoSided draws an integer X with P(X = x) proportional to exp(−|x|/t), exactly, by Algorithm 2 of
// Canonne, Kamath and Steinke. It has the same requirements as geometric.
func twoSided(t uint64, src Source) (int64, error) {
	for {
		y, err := geometric(t, src)
		if err != nil {
			return 0, err
		}
		negative := src.Word()>>63 == 1
		switch {
		case !negative:
			return int64(y), nil
		case y > 0:
			return -int64(y), nil
		}
	}
}
