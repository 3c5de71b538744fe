package units

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
)

// The numbers of binary places of the units.
const (
	Mu2Bits    = 40 // Mu2 counts units of 2^-40
	FinestBits = 80 // Precision and Delta count units of 2^-80
)

// WideSize is the length in bytes of the binary form of a Precision or a Delta.
const WideSize = int128.Size

// Mu2 is a squared Gaussian-DP parameter μ² in units of 2^-40, which are the units of accounts.
// Losses add up: releases with μ_i² cost Σ μ_i² together. The zCDP parameter ρ is μ²/2.
type Mu2 uint64

// MaxMu2 is the saturation value, which no account can pay.
const MaxMu2 Mu2 = math.MaxUint64

// Add returns m + n and true, or MaxMu2 and false if the sum does not fit.
func (m Mu2) Add(n Mu2) (Mu2, bool) {
	sum, carry := bits.Add64(uint64(m), uint64(n), 0)
	if carry != 0 {
		return MaxMu2, false
	}
	return Mu2(sum), true
}

// Cmp returns -1, 0 or 1 as m is less than, equal to or greater than n.
func (m Mu2) Cmp(n Mu2) int { return cmp.Compare(m, n) }

// Float returns μ² as a float64, rounded to nearest. It is for display, not for accounting.
func (m Mu2) Float() float64 { return math.Ldexp(float64(m), -Mu2Bits) }

// Mu returns μ = √μ², rounded to nearest, for display.
func (m Mu2) Mu() float64 { return math.Sqrt(m.Float()) }

// Rho returns the zCDP parameter ρ = μ²/2, rounded to nearest, for display.
func (m Mu2) Rho() float64 { return m.Float() / 2 }

// Rounding is the direction in which a number is rounded to a multiple of its unit.
type Rounding int

// Rounding to nearest is not needed, because every use in accounting has a safe direction.
const (
	RoundDown Rounding = iota
	RoundUp
)

// Precision is 1/variance of a Gaussian release, in units of 2^-80: the 128-bit integer Hi·2^64 +
// Lo. The zero value means no information. Precisions can be compared with ==.
type Precision struct{ Hi, Lo uint64 }

// Delta is a probability δ, in units of 2^-80: the 128-bit integer Hi·2^64 + Lo. Deltas can be
// compared with ==.
type Delta struct{ Hi, Lo uint64 }

// Cmp returns -1, 0 or 1 as p is less than, equal to or greater than o.
func (p Precision) Cmp(o Precision) int { return int128.Uint(p).Cmp(int128.Uint(o)) }

// IsZero reports whether p is 0.
func (p Precision) IsZero() bool { return p == Precision{} }

// Add returns p + o and true, or the greatest Precision and false if the sum exceeds 128 bits.
func (p Precision) Add(o Precision) (Precision, bool) {
	u, ok := int128.Uint(p).Add(int128.Uint(o))
	return Precision(u), ok
}

// Sub returns p - o and true, or 0 and false if o > p.
func (p Precision) Sub(o Precision) (Precision, bool) {
	u, ok := int128.Uint(p).Sub(int128.Uint(o))
	return Precision(u), ok
}

// Float returns p as a float64 in 1/count², with a relative error of at most 2^-52.
func (p Precision) Float() float64 { return int128.Uint(p).Float(-FinestBits) }

// Big returns the number of units of 2^-80 as a new value.
func (p Precision) Big() *big.Int { return int128.Uint(p).Big() }

// AppendBinary appends the 16 bytes of p, big-endian, to dst.
func (p Precision) AppendBinary(dst []byte) []byte { return int128.Uint(p).AppendBinary(dst) }

// PrecisionFromBig returns the Precision of v units of 2^-80. It fails with a *RangeError unless 0
// ≤ v < 2^128. v is not retained.
func PrecisionFromBig(v *big.Int) (Precision, error) {
	u, err := wideFromBig("precision", v)
	return Precision(u), err
}

// PrecisionFromFloat returns f (in 1/count²) in units of 2^-80, rounded in the given direction. It
// fails with a *RangeError unless 0 ≤ f < 2^48.
func PrecisionFromFloat(f float64, dir Rounding) (Precision, error) {
	u, err := wideFromFloat("precision", f, dir)
	return Precision(u), err
}

// PrecisionFromSigma returns ⌈2^80/σ²⌉. It is rounded up so that the charge for noise with standard
// deviation σ is never too low. It fails with a *RangeError unless 2^-23 ≤ σ ≤ 2^40.
func PrecisionFromSigma(sigma float64) (Precision, error) {
	if !(sigma >= 0x1p-23 && sigma <= 0x1p40) {
		return Precision{}, &RangeError{Parameter: "sigma", Value: sigma, Range: "between 2^-23 and 2^40"}
	}
	variance := new(big.Rat).SetFloat64(sigma)
	variance.Mul(variance, variance)
	units := new(big.Int).Lsh(variance.Denom(), FinestBits)
	rest := new(big.Int)
	units.DivMod(units, variance.Num(), rest)
	if rest.Sign() != 0 {
		units.Add(units, big.NewInt(1))
	}
	return PrecisionFromBig(units)
}

// Cmp returns -1, 0 or 1 as d is less than, equal to or greater than o.
func (d Delta) Cmp(o Delta) int { return int128.Uint(d).Cmp(int128.Uint(o)) }

// IsZero reports whether d is 0.
func (d Delta) IsZero() bool { return d == Delta{} }

// Add returns d + o and true, or the greatest Delta and false if the sum exceeds 128 bits.
func (d Delta) Add(o Delta) (Delta, bool) {
	u, ok := int128.Uint(d).Add(int128.Uint(o))
	return Delta(u), ok
}

// Sub returns d - o and true, or 0 and false if o > d.
func (d Delta) Sub(o Delta) (Delta, bool) {
	u, ok := int128.Uint(d).Sub(int128.Uint(o))
	return Delta(u), ok
}

// Float returns d as a float64, with a relative error of at most 2^-52.
func (d Delta) Float() float64 { return int128.Uint(d).Float(-FinestBits) }

// Big returns the number of units of 2^-80 as a new value.
func (d Delta) Big() *big.Int { return int128.Uint(d).Big() }

// DeltaFromBig returns the Delta of v units of 2^-80. It fails with a *RangeError unless 0 ≤ v <
// 2^128. v is not retained.
func DeltaFromBig(v *big.Int) (Delta, error) {
	u, err := wideFromBig("delta", v)
	return Delta(u), err
}

// DeltaFromFloat returns f in units of 2^-80. It is rounded down so that a budget of δ is never
// more than was requested. It fails with a *RangeError unless 0 ≤ f ≤ 1.
func DeltaFromFloat(f float64) (Delta, error) {
	if !(f >= 0 && f <= 1) {
		return Delta{}, &RangeError{Parameter: "delta", Value: f, Range: "between 0 and 1"}
	}
	u, err := wideFromFloat("delta", f, RoundDown)
	return Delta(u), err
}

// Charge returns the charge for a user who contributes c to a release with precision u: μ² = c²·u,
// as ⌈c²·u·2^-40⌉ account units. The product is computed in 256 bits. If the charge does not fit
// into 64 bits, Charge returns MaxMu2 and false, which means that it cannot be paid.
func Charge(c uint64, u Precision) (Mu2, bool) {
	high, low := bits.Mul64(c, c)
	return chargeSquare(high, low, u)
}

// ChargeSquares returns the charge for several releases with the same precision, where sum is the
// sum of the user's squared contributions. Like Charge, it rounds up, but only once.
func ChargeSquares(sum uint64, u Precision) (Mu2, bool) { return chargeSquare(0, sum, u) }

func chargeSquare(sqHi, sqLo uint64, u Precision) (Mu2, bool) {
	p1, p0 := bits.Mul64(sqLo, u.Lo)
	a1, a0 := bits.Mul64(sqLo, u.Hi)
	b1, b0 := bits.Mul64(sqHi, u.Lo)
	p3, p2 := bits.Mul64(sqHi, u.Hi)

	var carry uint64
	p1, carry = bits.Add64(p1, a0, 0)
	p2, carry = bits.Add64(p2, a1, carry)
	p3 += carry
	p1, carry = bits.Add64(p1, b0, 0)
	p2, carry = bits.Add64(p2, b1, carry)
	p3 += carry

	if p3 != 0 || p2 != 0 || p1>>Mu2Bits != 0 {
		return MaxMu2, false
	}
	units := p1<<(64-Mu2Bits) | p0>>Mu2Bits
	if p0&(1<<Mu2Bits-1) == 0 {
		return Mu2(units), true
	}
	return Mu2(units).Add(1)
}

func wideFromBig(what string, v *big.Int) (int128.Uint, error) {
	u, ok := int128.FromBig(v)
	if !ok {
		value := math.Inf(1)
		if v != nil {
			value, _ = new(big.Float).SetInt(v).Float64()
		}
		return u, &RangeError{Parameter: what, Value: value, Range: "at least 0 and below 2^128 units of 2^-80"}
	}
	return u, nil
}

func wideFromFloat(what string, f float64, dir Rounding) (int128.Uint, error) {
	if !(f >= 0 && f < 0x1p48) {
		return int128.Uint{}, &RangeError{Parameter: what, Value: f, Range: "at least 0 and below 2^48"}
	}
	mantissa, exponent := int128.Split(f)
	u, _ := int128.Uint{Lo: mantissa}.Scale(exponent+FinestBits, dir == RoundUp)
	return u, nil
}
