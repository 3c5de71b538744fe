package noisereduction

import (
	"errors"
	"fmt"
	"math/big"
	"math/bits"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/state/units"
)

// errFarTail is returned for a normal deviate beyond maxInteger standard deviations. The
// probability of such a deviate is below e^-100000.
var errFarTail = errors.New(
	"drawing noise: the deviate is beyond 512 standard deviations: the digits are not random")

const maxInteger = 512

// Digits is a source of random digits, which are independent and uniform over all 64-bit words.
type Digits interface{ Word() uint64 }

// Gauss draws rounded Gaussian noise from digits that the caller supplies, by the same exact
// algorithm as a Sampler. The zero value is ready for use. A Gauss is not safe for concurrent use.
type Gauss struct{ normal normal }

// Rounded returns the integer nearest to σ·2^exponent·Z, where Z ~ N(0, 1) exactly. σ is rational,
// at least 1/√u, and exceeds 1/√u by less than a factor 1 + 2^-30. The result is the noise of
// precision u on the lattice of multiples of 2^-exponent.
//
// Rounded fails if u is 0, if σ·2^exponent lies outside 2^0 … 2^50, or if a deviate is beyond 512
// standard deviations, which does not happen with random digits.
func (g *Gauss) Rounded(u units.Precision, exponent uint, src Digits) (int64, error) {
	if u.IsZero() {
		return 0, errors.New("drawing noise: the precision is 0")
	}
	if lead := int(exponent) + precisionBits/2 - int128.Uint(u).Len()/2; lead < 0 || lead > 50 {
		return 0, fmt.Errorf("drawing noise: a lattice of 2^-%d does not suit precision %g", exponent, u.Float())
	}
	q, t := scaledDeviation(u, exponent)
	return g.normal.rounded(q, t, src)
}

// deviate is a uniform number in [0, 1), whose digits are generated when needed, 64 bits at a time.
type deviate []uint64

func (r *deviate) digit(i int, src Digits) uint64 {
	for len(*r) <= i {
		*r = append(*r, src.Word())
	}
	return (*r)[i]
}

// less compares two uniform deviates exactly. It draws digits until they differ.
func less(a, b *deviate, src Digits) bool {
	for i := 0; ; i++ {
		if da, db := a.digit(i, src), b.digit(i, src); da != db {
			return da < db
		}
	}
}

// normal draws exact normal deviates by Algorithm N of Karney, "Sampling exactly from the normal
// distribution" (ACM TOMS 42:3, 2016). Every decision compares random digits. No floating-point
// function is evaluated, so the result has exactly the normal distribution, not an approximation. A
// normal is not safe for concurrent use.
type normal struct {
	fraction, first, second, third deviate
}

// rounded returns the integer nearest to q·2^-t·Z, where Z ~ N(0, 1). It refines Z digit by digit
// until the rounding is decided. It requires q > 0 and t < 64.
func (n *normal) rounded(q uint64, t uint, src Digits) (int64, error) {
	k, err := n.magnitude(src)
	if err != nil {
		return 0, err
	}
	negative := src.Word()>>63 == 1
	m, decided := roundOne(q, t, uint64(k), n.fraction.digit(0, src))
	if !decided {
		if m, err = n.roundMore(q, t, k, src); err != nil {
			return 0, err
		}
	}
	if negative {
		return -m, nil
	}
	return m, nil
}

// magnitude draws |Z| = k + fraction.
func (n *normal) magnitude(src Digits) (int, error) {
	for {
		k := 0
		for n.halfExp(src) {
			if k++; k == maxInteger {
				return 0, errFarTail
			}
		}
		if !n.keepInteger(k, src) {
			continue
		}
		n.fraction = n.fraction[:0]
		if n.keepFraction(k, src) {
			return k, nil
		}
	}
}

// keepInteger returns true with probability exp(−k(k−1)/2).
func (n *normal) keepInteger(k int, src Digits) bool {
	for range k * (k - 1) {
		if !n.halfExp(src) {
			return false
		}
	}
	return true
}

// keepFraction returns true with probability exp(−x(2k+x)/2), where x is the fraction.
func (n *normal) keepFraction(k int, src Digits) bool {
	for range k + 1 {
		if !n.expStep(k, src) {
			return false
		}
	}
	return true
}

// halfExp returns true with probability exp(−1/2). The longest run 1/2 > U₁ > U₂ > … has length ≥ n
// with probability (1/2)^n/n!, and therefore an even length with probability exp(−1/2).
func (n *normal) halfExp(src Digits) bool {
	last, next := &n.first, &n.second
	*last = (*last)[:0]
	if last.digit(0, src)>>63 == 1 {
		return true
	}
	for even := false; ; even = !even {
		*next = (*next)[:0]
		if !less(next, last, src) {
			return even
		}
		last, next = next, last
	}
}

// expStep returns true with probability exp(−x·(2k+x)/(2k+2)). It works like halfExp, but the run
// starts below x, and each step must also pass a test with probability (2k+x)/(2k+2).
func (n *normal) expStep(k int, src Digits) bool {
	last, next, spare := &n.fraction, &n.first, &n.second
	for even := true; ; even = !even {
		*next = (*next)[:0]
		if !less(next, last, src) {
			return even
		}
		switch c := uniform(uint64(2*k+2), src); {
		case c < uint64(2*k):
		case c == uint64(2*k):
			n.third = n.third[:0]
			if !less(&n.third, &n.fraction, src) {
				return even
			}
		default:
			return even
		}
		last, next, spare = next, spare, next
	}
}

// uniform draws an integer in [0, m) by rejection.
func uniform(m uint64, src Digits) uint64 {
	for {
		hi, lo := bits.Mul64(src.Word(), m)
		if lo >= -m%m {
			return hi
		}
	}
}

// roundOne rounds q·2^-t·(k + x) for x in [digit, digit+1)·2^-64. It reports whether both ends of
// that interval round to the same integer.
func roundOne(q uint64, t uint, k, digit uint64) (int64, bool) {
	// low = q·(k·2^64 + digit) + 2^(t+63) in three words; the result is its quotient by 2^(t+64).
	w1, w0 := bits.Mul64(q, digit)
	w2, kq := bits.Mul64(q, k)
	w1, carry := bits.Add64(w1, kq, 0)
	w2 += carry
	var half1, half0 uint64
	if t == 0 {
		half0 = 1 << 63
	} else {
		half1 = 1 << (t - 1)
	}
	w0, carry = bits.Add64(w0, half0, 0)
	w1, carry = bits.Add64(w1, half1, carry)
	w2 += carry
	// The upper end is excluded: low + q − 1 is the greatest value.
	_, carry = bits.Add64(w0, q-1, 0)
	v1, carry := bits.Add64(w1, 0, carry)
	v2 := w2 + carry
	if t != 0 && w2>>t != 0 || t == 0 && w2 != 0 {
		return 0, false // more than 64 bits: roundMore decides
	}
	low, high := w1>>t|w2<<(64-t), v1>>t|v2<<(64-t)
	return int64(low), low == high && low>>62 == 0
}

// roundMore is roundOne with as many digits as the rounding needs.
func (n *normal) roundMore(q uint64, t uint, k int, src Digits) (int64, error) {
	factor := new(big.Int).SetUint64(q)
	value := big.NewInt(int64(k))
	for i := 0; ; i++ {
		value.Lsh(value, 64)
		value.Add(value, new(big.Int).SetUint64(n.fraction.digit(i, src)))
		shift := t + 64*uint(i+1)
		low := new(big.Int).Mul(value, factor)
		low.Add(low, new(big.Int).Lsh(big.NewInt(1), shift-1))
		high := new(big.Int).Add(low, factor)
		high.Sub(high, big.NewInt(1))
		low.Rsh(low, shift)
		if low.Cmp(high.Rsh(high, shift)) != 0 {
			continue
		}
		if !low.IsInt64() {
			return 0, errFarTail
		}
		return low.Int64(), nil
	}
}
