package int128

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
)

// Size is the length in bytes of the binary form of a Uint.
const Size = 16

// Uint is Hi·2^64 + Lo.
type Uint struct{ Hi, Lo uint64 }

// Max is 2^128 − 1.
var Max = Uint{math.MaxUint64, math.MaxUint64}

// Mul returns a·b.
func Mul(a, b uint64) Uint {
	hi, lo := bits.Mul64(a, b)
	return Uint{hi, lo}
}

// Cmp returns -1 if a < b, 0 if a == b, and 1 if a > b.
func (a Uint) Cmp(b Uint) int {
	switch {
	case a.Hi < b.Hi, a.Hi == b.Hi && a.Lo < b.Lo:
		return -1
	case a == b:
		return 0
	}
	return 1
}

// Add returns a + b and true, or Max and false if the sum does not fit.
func (a Uint) Add(b Uint) (Uint, bool) {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	hi, carry := bits.Add64(a.Hi, b.Hi, carry)
	if carry != 0 {
		return Max, false
	}
	return Uint{hi, lo}, true
}

// Sub returns a − b and true, or 0 and false if b > a.
func (a Uint) Sub(b Uint) (Uint, bool) {
	lo, borrow := bits.Sub64(a.Lo, b.Lo, 0)
	hi, borrow := bits.Sub64(a.Hi, b.Hi, borrow)
	if borrow != 0 {
		return Uint{}, false
	}
	return Uint{hi, lo}, true
}

// Len returns the number of bits of a without leading zeros; 0 has none.
func (a Uint) Len() int {
	if a.Hi != 0 {
		return 64 + bits.Len64(a.Hi)
	}
	return bits.Len64(a.Lo)
}

// Lsh returns a·2^n without the bits that do not fit.
func (a Uint) Lsh(n uint) Uint {
	if n >= 64 {
		return Uint{Hi: a.Lo << (n - 64)}
	}
	return Uint{a.Hi<<n | a.Lo>>(64-n), a.Lo << n}
}

// Rsh returns ⌊a/2^n⌋, and whether one of the dropped bits was set.
func (a Uint) Rsh(n uint) (shifted Uint, rest bool) {
	if n >= 64 {
		return Uint{Lo: a.Hi >> (n - 64)}, a.Lo != 0 || a.Hi&(1<<(n-64)-1) != 0
	}
	return Uint{a.Hi >> n, a.Hi<<(64-n) | a.Lo>>n}, a.Lo&(1<<n-1) != 0
}

// Scale returns a·2^shift, rounded up or down to an integer, and true. If that does not fit, it
// returns Max and false.
func (a Uint) Scale(shift int, up bool) (Uint, bool) {
	if shift >= 0 {
		if n := a.Len(); n > 0 && n+shift > 128 {
			return Max, false
		}
		return a.Lsh(uint(shift)), true
	}
	scaled, rest := a.Rsh(uint(-shift))
	if rest && up {
		return scaled.Add(Uint{Lo: 1})
	}
	return scaled, true
}

// Split returns the mantissa and the exponent of a finite f ≥ 0, with f = mantissa·2^exponent.
func Split(f float64) (mantissa uint64, exponent int) {
	const (
		bits     = 53 // bits of a significand
		fraction = 1<<(bits-1) - 1
		least    = -1074 // the exponent of the least positive float64
	)
	b := math.Float64bits(math.Abs(f)) // 0 may have a sign
	biased := int(b >> (bits - 1))
	if biased == 0 {
		return b, least
	}
	return b&fraction | (fraction + 1), least + biased - 1
}

// Float returns a·2^shift as a float64, with a relative rounding error of at most 2^-52.
func (a Uint) Float(shift int) float64 {
	// Each half is converted explicitly, so that no compiler can fuse the sum with a product and
	// get another value on another machine.
	high := float64(math.Ldexp(float64(a.Hi), 64+shift))
	low := float64(math.Ldexp(float64(a.Lo), shift))
	return high + low
}

// SetBig sets dst to a. It overwrites scratch, which must be another big.Int.
func (a Uint) SetBig(dst, scratch *big.Int) *big.Int {
	dst.SetUint64(a.Hi)
	dst.Lsh(dst, 64)
	return dst.Or(dst, scratch.SetUint64(a.Lo))
}

// Big returns a as a new big.Int.
func (a Uint) Big() *big.Int { return a.SetBig(new(big.Int), new(big.Int)) }

// FromBig returns v and true if 0 ≤ v < 2^128, and otherwise 0 and false. It does not retain v.
func FromBig(v *big.Int) (Uint, bool) {
	if v == nil || v.Sign() < 0 || v.BitLen() > 128 {
		return Uint{}, false
	}
	var b [Size]byte
	v.FillBytes(b[:])
	return FromBytes(b[:])
}

// AppendBinary appends the 16 bytes of a, big-endian.
func (a Uint) AppendBinary(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, a.Hi), a.Lo)
}

// FromBytes is the inverse of AppendBinary. It returns false unless b has 16 bytes.
func FromBytes(b []byte) (Uint, bool) {
	if len(b) != Size {
		return Uint{}, false
	}
	return Uint{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}, true
}

// ByteLen returns the number of bytes of a without leading zeros. Precisions often have 9 or 10.
func (a Uint) ByteLen() int { return (a.Len() + 7) / 8 }

// AppendMinimal appends the last ByteLen bytes of a, big-endian.
func (a Uint) AppendMinimal(dst []byte) []byte {
	var b [Size]byte
	binary.BigEndian.PutUint64(b[:8], a.Hi)
	binary.BigEndian.PutUint64(b[8:], a.Lo)
	return append(dst, b[Size-a.ByteLen():]...)
}

// FromMinimal is the inverse of AppendMinimal. It returns false if b is longer than 16 bytes or
// begins with a zero.
func FromMinimal(b []byte) (a Uint, ok bool) {
	if len(b) > Size || len(b) > 0 && b[0] == 0 {
		return Uint{}, false
	}
	for len(b) > 8 {
		a.Hi, b = a.Hi<<8|uint64(b[0]), b[1:]
	}
	for _, c := range b {
		a.Lo = a.Lo<<8 | uint64(c)
	}
	return a, true
}
