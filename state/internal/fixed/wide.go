package fixed

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
)

const wideBits = 256

// wide is the integer d·2^192 + c·2^128 + b·2^64 + a. It has fields because the compiler does not
// keep arrays in registers. Overflow saturates.
type wide struct{ d, c, b, a uint64 }

var wideMax = wide{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}

func (x wide) cmp(y wide) int {
	switch {
	case x == y:
		return 0
	case x.less(y):
		return -1
	}
	return 1
}

func (x wide) less(y wide) bool {
	_, borrow := bits.Sub64(x.a, y.a, 0)
	_, borrow = bits.Sub64(x.b, y.b, borrow)
	_, borrow = bits.Sub64(x.c, y.c, borrow)
	_, borrow = bits.Sub64(x.d, y.d, borrow)
	return borrow != 0
}

// add returns x + y, or wideMax if the sum does not fit.
func (x wide) add(y wide) wide {
	a, carry := bits.Add64(x.a, y.a, 0)
	b, carry := bits.Add64(x.b, y.b, carry)
	c, carry := bits.Add64(x.c, y.c, carry)
	d, carry := bits.Add64(x.d, y.d, carry)
	if carry != 0 {
		return wideMax
	}
	return wide{d, c, b, a}
}

// sub returns x - y, or 0 if y > x.
func (x wide) sub(y wide) wide {
	a, borrow := bits.Sub64(x.a, y.a, 0)
	b, borrow := bits.Sub64(x.b, y.b, borrow)
	c, borrow := bits.Sub64(x.c, y.c, borrow)
	d, borrow := bits.Sub64(x.d, y.d, borrow)
	if borrow != 0 {
		return wide{}
	}
	return wide{d, c, b, a}
}

// length returns the number of bits of x without leading zeros.
func (x wide) length() int {
	switch {
	case x.d != 0:
		return 192 + bits.Len64(x.d)
	case x.c != 0:
		return 128 + bits.Len64(x.c)
	case x.b != 0:
		return 64 + bits.Len64(x.b)
	}
	return bits.Len64(x.a)
}

// top returns the 64 bits of x from bit n upward, 0 ≤ n < 256, and whether a lower bit is set.
func (x wide) top(n int) (kept uint64, rest bool) {
	for ; n >= 64; n -= 64 {
		rest = rest || x.a != 0
		x = wide{0, x.d, x.c, x.b}
	}
	rest = rest || x.a&(1<<n-1) != 0
	return x.b<<(64-n) | x.a>>n, rest
}

// placed returns u·2^shift, rounded up or down to an integer, or wideMax on overflow.
func placed(u int128.Uint, shift int, up bool) wide {
	if shift < 0 {
		scaled, _ := u.Scale(shift, up)
		return wide{b: scaled.Hi, a: scaled.Lo}
	}
	if u.Len()+shift > wideBits {
		return wideMax
	}
	n := shift % 64
	x := wide{c: u.Hi >> (64 - n), b: u.Hi<<n | u.Lo>>(64-n), a: u.Lo << n}
	for ; shift >= 64; shift -= 64 {
		x = wide{x.c, x.b, x.a, 0}
	}
	return x
}

// big returns x as a new value.
func (x wide) big() *big.Int {
	var b [wideBits / 8]byte
	for i, limb := range []uint64{x.d, x.c, x.b, x.a} {
		binary.BigEndian.PutUint64(b[8*i:], limb)
	}
	return new(big.Int).SetBytes(b[:])
}

// wideFromBig returns v if 0 ≤ v < 2^256, and otherwise wideMax.
func wideFromBig(v *big.Int) wide {
	if v.Sign() < 0 || v.BitLen() > wideBits {
		return wideMax
	}
	var b [wideBits / 8]byte
	v.FillBytes(b[:])
	limb := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	return wide{limb(0), limb(1), limb(2), limb(3)}
}
