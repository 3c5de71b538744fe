package state

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

const (
	mu2Bits    = 40 // Mu2 counts units of 2^-40
	finestBits = 80 // Precision and Delta count units of 2^-80
)

// WideSize is the length in bytes of the binary form of a Precision or a Delta.
const WideSize = 16

// Mu2 is a squared Gaussian-DP parameter μ² in units of 2^-40, the currency of
// accounts. Losses add: k releases of μ_i² cost Σ μ_i². The zCDP parameter is
// half of it.
type Mu2 uint64

// MaxMu2 is the saturation value: more than any account can pay.
const MaxMu2 Mu2 = math.MaxUint64

// Add returns m + n and true, or MaxMu2 and false if the sum does not fit.
func (m Mu2) Add(n Mu2) (Mu2, bool) {
	sum, carry := bits.Add64(uint64(m), uint64(n), 0)
	if carry != 0 {
		return MaxMu2, false
	}
	return Mu2(sum), true
}

// Float returns μ² as a float64, rounded to nearest: for display, never for
// accounting.
func (m Mu2) Float() float64 { return math.Ldexp(float64(m), -mu2Bits) }

// Mu returns μ = √μ², rounded to nearest, for display.
func (m Mu2) Mu() float64 { return math.Sqrt(m.Float()) }

// Rho returns the zCDP parameter ρ = μ²/2, rounded to nearest, for display.
func (m Mu2) Rho() float64 { return m.Float() / 2 }

// Rounding says in which direction a float64 becomes an integer of 2^-80.
type Rounding int

// The two directions. There is no rounding to nearest: every use in accounting
// has a safe side.
const (
	RoundDown Rounding = iota
	RoundUp
)

// Precision is 1/variance of a Gaussian release, an integer of 2^-80 in 128
// bits: Hi·2^64 + Lo. The zero value is "no information". Comparable with ==.
type Precision struct{ Hi, Lo uint64 }

// Delta is a probability δ, an integer of 2^-80 in 128 bits: Hi·2^64 + Lo.
// Comparable with ==.
type Delta struct{ Hi, Lo uint64 }

// Cmp returns -1, 0 or 1 as p is less than, equal to or greater than o.
func (p Precision) Cmp(o Precision) int { return cmpWide(p.Hi, p.Lo, o.Hi, o.Lo) }

// IsZero reports whether p is 0.
func (p Precision) IsZero() bool { return p == Precision{} }

// Add returns p + o and true, or the greatest Precision and false if the sum
// does not fit 128 bits.
func (p Precision) Add(o Precision) (Precision, bool) {
	hi, lo, ok := addWide(p.Hi, p.Lo, o.Hi, o.Lo)
	return Precision{hi, lo}, ok
}

// Sub returns p - o and true, or 0 and false if o > p.
func (p Precision) Sub(o Precision) (Precision, bool) {
	hi, lo, ok := subWide(p.Hi, p.Lo, o.Hi, o.Lo)
	return Precision{hi, lo}, ok
}

// Float returns p as a float64 in 1/count², rounded to within 2^-52 relative.
func (p Precision) Float() float64 { return floatWide(p.Hi, p.Lo) }

// Big returns the integer number of units of 2^-80, a fresh value.
func (p Precision) Big() *big.Int { return bigWide(p.Hi, p.Lo) }

// AppendBinary appends the 16 bytes of p, big-endian, to dst.
func (p Precision) AppendBinary(dst []byte) []byte { return appendWide(dst, p.Hi, p.Lo) }

// PrecisionFromBig returns the Precision of v units of 2^-80. It fails with a
// *RangeError unless 0 ≤ v < 2^128. v is not kept.
func PrecisionFromBig(v *big.Int) (Precision, error) {
	hi, lo, err := wideFromBig("precision", v)
	return Precision{hi, lo}, err
}

// PrecisionFromFloat returns f (in 1/count²) in units of 2^-80, rounded in the
// direction given. It fails with a *RangeError unless 0 ≤ f < 2^48.
func PrecisionFromFloat(f float64, dir Rounding) (Precision, error) {
	hi, lo, err := wideFromFloat("precision", f, dir)
	return Precision{hi, lo}, err
}

// PrecisionFromSigma returns ⌈2^80/σ²⌉: noise of standard deviation σ is
// charged as no less precise than it is. It fails with a *RangeError unless
// 2^-23 ≤ σ ≤ 2^40.
func PrecisionFromSigma(sigma float64) (Precision, error) {
	if !(sigma >= 0x1p-23 && sigma <= 0x1p40) {
		return Precision{}, &RangeError{Parameter: "sigma", Value: sigma, Range: "between 2^-23 and 2^40"}
	}
	variance := new(big.Rat).SetFloat64(sigma)
	variance.Mul(variance, variance)
	units := new(big.Int).Lsh(variance.Denom(), finestBits)
	rest := new(big.Int)
	units.DivMod(units, variance.Num(), rest)
	if rest.Sign() != 0 {
		units.Add(units, big.NewInt(1))
	}
	return PrecisionFromBig(units)
}

// PrecisionFromBytes reads what AppendBinary wrote. It fails with a
// *DecodeError unless b has exactly 16 bytes.
func PrecisionFromBytes(b []byte) (Precision, error) {
	hi, lo, err := wideFromBytes("precision", b)
	return Precision{hi, lo}, err
}

// Cmp returns -1, 0 or 1 as d is less than, equal to or greater than o.
func (d Delta) Cmp(o Delta) int { return cmpWide(d.Hi, d.Lo, o.Hi, o.Lo) }

// IsZero reports whether d is 0.
func (d Delta) IsZero() bool { return d == Delta{} }

// Add returns d + o and true, or the greatest Delta and false if the sum does
// not fit 128 bits.
func (d Delta) Add(o Delta) (Delta, bool) {
	hi, lo, ok := addWide(d.Hi, d.Lo, o.Hi, o.Lo)
	return Delta{hi, lo}, ok
}

// Sub returns d - o and true, or 0 and false if o > d.
func (d Delta) Sub(o Delta) (Delta, bool) {
	hi, lo, ok := subWide(d.Hi, d.Lo, o.Hi, o.Lo)
	return Delta{hi, lo}, ok
}

// Float returns d as a float64, rounded to within 2^-52 relative.
func (d Delta) Float() float64 { return floatWide(d.Hi, d.Lo) }

// Big returns the integer number of units of 2^-80, a fresh value.
func (d Delta) Big() *big.Int { return bigWide(d.Hi, d.Lo) }

// AppendBinary appends the 16 bytes of d, big-endian, to dst.
func (d Delta) AppendBinary(dst []byte) []byte { return appendWide(dst, d.Hi, d.Lo) }

// DeltaFromBig returns the Delta of v units of 2^-80. It fails with a
// *RangeError unless 0 ≤ v < 2^128. v is not kept.
func DeltaFromBig(v *big.Int) (Delta, error) {
	hi, lo, err := wideFromBig("delta", v)
	return Delta{hi, lo}, err
}

// DeltaFromFloat returns f in units of 2^-80, rounded down: a budget of δ is
// never more than was asked for. It fails with a *RangeError unless 0 ≤ f ≤ 1.
func DeltaFromFloat(f float64) (Delta, error) {
	if !(f >= 0 && f <= 1) {
		return Delta{}, &RangeError{Parameter: "delta", Value: f, Range: "between 0 and 1"}
	}
	hi, lo, err := wideFromFloat("delta", f, RoundDown)
	return Delta{hi, lo}, err
}

// DeltaFromBytes reads what AppendBinary wrote. It fails with a *DecodeError
// unless b has exactly 16 bytes.
func DeltaFromBytes(b []byte) (Delta, error) {
	hi, lo, err := wideFromBytes("delta", b)
	return Delta{hi, lo}, err
}

// Charge returns what a user who contributed c to a release of precision u
// pays: μ² = c²·u, as ⌈c²·u·2^-40⌉ account units. The product is formed in 256
// bits. If the charge does not fit 64 bits the result is MaxMu2 and false, which
// a caller must treat as "cannot be paid"; wrapping would turn it into a refund.
func Charge(c uint64, u Precision) (Mu2, bool) {
	sqHi, sqLo := bits.Mul64(c, c)

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

	if p3 != 0 || p2 != 0 || p1>>mu2Bits != 0 {
		return MaxMu2, false
	}
	units := p1<<(64-mu2Bits) | p0>>mu2Bits
	if p0&(1<<mu2Bits-1) == 0 {
		return Mu2(units), true
	}
	return Mu2(units).Add(1)
}

func cmpWide(aHi, aLo, bHi, bLo uint64) int {
	switch {
	case aHi != bHi && aHi < bHi, aHi == bHi && aLo < bLo:
		return -1
	case aHi == bHi && aLo == bLo:
		return 0
	}
	return 1
}

func addWide(aHi, aLo, bHi, bLo uint64) (hi, lo uint64, ok bool) {
	lo, carry := bits.Add64(aLo, bLo, 0)
	hi, carry = bits.Add64(aHi, bHi, carry)
	if carry != 0 {
		return math.MaxUint64, math.MaxUint64, false
	}
	return hi, lo, true
}

func subWide(aHi, aLo, bHi, bLo uint64) (hi, lo uint64, ok bool) {
	lo, borrow := bits.Sub64(aLo, bLo, 0)
	hi, borrow = bits.Sub64(aHi, bHi, borrow)
	if borrow != 0 {
		return 0, 0, false
	}
	return hi, lo, true
}

// floatWide converts each half explicitly, so that no compiler can fuse the sum
// with a product and give another value on another machine.
func floatWide(hi, lo uint64) float64 {
	high := float64(math.Ldexp(float64(hi), 64-finestBits))
	low := float64(math.Ldexp(float64(lo), -finestBits))
	return high + low
}

func bigWide(hi, lo uint64) *big.Int {
	v := new(big.Int).SetUint64(hi)
	v.Lsh(v, 64)
	return v.Or(v, new(big.Int).SetUint64(lo))
}

func appendWide(dst []byte, hi, lo uint64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, hi)
	return binary.BigEndian.AppendUint64(dst, lo)
}

func wideFromBytes(what string, b []byte) (hi, lo uint64, err error) {
	if len(b) != WideSize {
		return 0, 0, &DecodeError{What: what, Reason: fmt.Sprintf("%d bytes where %d are needed", len(b), WideSize)}
	}
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), nil
}

func wideFromBig(what string, v *big.Int) (hi, lo uint64, err error) {
	if v == nil || v.Sign() < 0 || v.BitLen() > 128 {
		value := math.Inf(1)
		if v != nil {
			value, _ = new(big.Float).SetInt(v).Float64()
		}
		return 0, 0, &RangeError{Parameter: what, Value: value, Range: "at least 0 and below 2^128 units of 2^-80"}
	}
	var b [WideSize]byte
	v.FillBytes(b[:])
	return wideFromBytes(what, b[:])
}

func wideFromFloat(what string, f float64, dir Rounding) (hi, lo uint64, err error) {
	if !(f >= 0 && f < 0x1p48) {
		return 0, 0, &RangeError{Parameter: what, Value: f, Range: "at least 0 and below 2^48"}
	}
	exact := new(big.Float).SetFloat64(f)
	exact.SetMantExp(exact, finestBits)
	units, accuracy := exact.Int(nil)
	if dir == RoundUp && accuracy == big.Below {
		units.Add(units, big.NewInt(1))
	}
	return wideFromBig(what, units)
}
