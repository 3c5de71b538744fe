package fixed

import (
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/state/units"
)

const (
	unitBits     = 208 // an Amount counts units of 2^-208
	mantissaBits = 53  // bits of a float64's significand

	// Size is the number of bytes of an Amount.
	Size = wideBits / 8
)

// Amount is a number from 0 to just below 2^48 in units of 2^-208. Every float64 of at least
// 2^-156, and the square of every float64 of at least 2^-52, is an integer number of units, so that
// their sums are exact. The zero value is 0. Amounts can be compared with ==.
type Amount struct{ units wide }

var (
	// Max is the saturation value. Every Meter refuses a loss of Max.
	Max = Amount{wideMax}

	largestLimit = Amount{wideMax.sub(wide{a: 1})}
)

// Up returns the least Amount that is not below f. It is Max for NaN and f ≥ 2^48, and 0 for f ≤ 0.
func Up(f float64) Amount { return fromFloat(f, units.RoundUp) }

// Down returns the greatest Amount below Max that is not above f. It is 0 for NaN and f ≤ 0.
func Down(f float64) Amount { return fromFloat(f, units.RoundDown) }

// SquareUp returns the least Amount that is not below the exact f². It is Max for NaN and |f| ≥
// 2^24.
func SquareUp(f float64) Amount { return fromSquare(f, units.RoundUp) }

// SquareDown returns the greatest Amount below Max that is not above the exact f², or 0 for NaN.
func SquareDown(f float64) Amount { return fromSquare(f, units.RoundDown) }

// BigDown returns the greatest Amount below Max that is not above x. It returns 0 for x ≤ 0.
func BigDown(x *big.Float) Amount {
	if x.Sign() <= 0 {
		return Amount{}
	}
	if x.MantExp(nil) > wideBits-unitBits {
		return largestLimit
	}
	units, _ := new(big.Float).SetMantExp(x, unitBits).Int(nil)
	return below(wideFromBig(units))
}

// FromMu2 returns the exact Amount of a μ² in the units of accounts.
func FromMu2(m units.Mu2) Amount {
	return scale(int128.Uint{Lo: uint64(m)}, unitBits-units.Mu2Bits, units.RoundUp)
}

// FromInteger returns n·2^-16. With this scale, every n fits.
func FromInteger(n uint64) Amount { return Amount{wide{d: n}} }

// Integer returns a·2^16, rounded down.
func (a Amount) Integer() uint64 { return a.units.d }

// Cmp returns -1, 0 or 1 as a is less than, equal to or greater than b.
func (a Amount) Cmp(b Amount) int { return a.units.cmp(b.units) }

// IsZero reports whether a is 0.
func (a Amount) IsZero() bool { return a == Amount{} }

// Plus returns a + b, or Max if the sum does not fit.
func (a Amount) Plus(b Amount) Amount { return Amount{a.units.add(b.units)} }

// Add returns a + b and true, or Max and false if the sum does not fit.
func (a Amount) Add(b Amount) (Amount, bool) {
	sum := a.Plus(b)
	return sum, sum != Max
}

// Sub returns a - b, or 0 if b > a.
func (a Amount) Sub(b Amount) Amount { return Amount{a.units.sub(b.units)} }

// Big returns a in units of 2^-208, as a new value.
func (a Amount) Big() *big.Int { return a.units.big() }

// FloatDown returns the greatest float64 that is not above a. If a < Max, it is the greatest f with
// Up(f) ≤ a.
func (a Amount) FloatDown() float64 { return a.float(units.RoundDown) }

// FloatUp returns the least float64 that is not below a.
func (a Amount) FloatUp() float64 { return a.float(units.RoundUp) }

// Root returns √a, rounded down: the greatest float64 f with SquareUp(f) ≤ a. Max counts as the
// Amount just below it.
func (a Amount) Root() float64 {
	if a == Max {
		a = largestLimit
	}
	// The float64 root is at most two steps away from the result.
	root := math.Sqrt(a.FloatDown())
	for SquareUp(root).Cmp(a) > 0 {
		root = math.Nextafter(root, 0)
	}
	for {
		next := math.Nextafter(root, math.Inf(1))
		if SquareUp(next).Cmp(a) > 0 {
			return root
		}
		root = next
	}
}

// RootUp returns √a, rounded up: the least float64 f ≥ 0 with f² ≥ a.
func (a Amount) RootUp() float64 {
	root := a.Root()
	if SquareDown(root).Cmp(a) >= 0 {
		return root
	}
	return math.Nextafter(root, math.Inf(1))
}

// Bytes returns a in units of 2^-208, as a big-endian integer.
func (a Amount) Bytes() (b [Size]byte) {
	a.units.big().FillBytes(b[:])
	return b
}

// FromBytes is the inverse of Bytes. All bytes are valid.
func FromBytes(b [Size]byte) Amount { return Amount{wideFromBig(new(big.Int).SetBytes(b[:]))} }

func (a Amount) float(dir units.Rounding) float64 {
	drop := max(0, a.units.length()-mantissaBits)
	kept, inexact := a.units.top(drop)
	if inexact && dir == units.RoundUp {
		kept++
	}
	return math.Ldexp(float64(kept), drop-unitBits)
}

func fromFloat(f float64, dir units.Rounding) Amount {
	if !(f > 0 && f <= math.MaxFloat64) {
		return outside(f, dir)
	}
	mantissa, exponent := int128.Split(f)
	return scale(int128.Uint{Lo: mantissa}, exponent+unitBits, dir)
}

func fromSquare(f float64, dir units.Rounding) Amount {
	f = math.Abs(f)
	if !(f > 0 && f <= math.MaxFloat64) {
		return outside(f, dir)
	}
	mantissa, exponent := int128.Split(f)
	return scale(int128.Mul(mantissa, mantissa), 2*exponent+unitBits, dir)
}

// outside returns the Amount for an f that is not a positive finite number.
func outside(f float64, dir units.Rounding) Amount {
	switch {
	case f <= 0, math.IsNaN(f) && dir == units.RoundDown:
		return Amount{}
	case dir == units.RoundDown:
		return largestLimit
	}
	return Max
}

// scale returns u·2^shift units, rounded in the given direction. A result that is rounded down is
// below Max, even on overflow.
func scale(u int128.Uint, shift int, dir units.Rounding) Amount {
	scaled := placed(u, shift, dir == units.RoundUp)
	if dir == units.RoundDown {
		return below(scaled)
	}
	return Amount{scaled}
}

// below returns amount, or the Amount just below Max if amount is Max.
func below(amount wide) Amount {
	if amount == wideMax {
		return largestLimit
	}
	return Amount{amount}
}
