package fixed

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/tollgate-dp/tollgate/state"
)

const (
	unitBits     = 80 // an Amount counts units of 2^-80
	mantissaBits = 53 // of a float64
)

// Amount is a number from 0 to just below 2^48 in units of 2^-80. The zero value
// is 0; comparable with ==.
type Amount struct{ units state.Precision }

var (
	// Max is the saturation value: a loss of Max is refused by every Meter.
	Max = Amount{state.Precision{Hi: math.MaxUint64, Lo: math.MaxUint64}}

	largestLimit = Amount{state.Precision{Hi: math.MaxUint64, Lo: math.MaxUint64 - 1}}
)

// Up returns the least Amount that is not below f. It returns Max for a NaN and
// from 2^48 on, and 0 for whatever is not above 0.
func Up(f float64) Amount { return fromFloat(f, state.RoundUp) }

// Down returns the greatest Amount below Max that is not above f: 0 for a NaN and
// whatever is not above 0.
func Down(f float64) Amount { return fromFloat(f, state.RoundDown) }

// SquareUp returns the least Amount that is not below the exact f². It returns Max
// for a NaN and from |f| = 2^24 on.
func SquareUp(f float64) Amount { return fromSquare(f, state.RoundUp) }

// SquareDown returns the greatest Amount below Max that is not above the exact f²,
// and 0 for a NaN.
func SquareDown(f float64) Amount { return fromSquare(f, state.RoundDown) }

// Cmp returns -1, 0 or 1 as a is less than, equal to or greater than b.
func (a Amount) Cmp(b Amount) int { return a.units.Cmp(b.units) }

// IsZero reports whether a is 0.
func (a Amount) IsZero() bool { return a.units.IsZero() }

// Add returns a + b, or Max if the sum does not fit.
func (a Amount) Add(b Amount) Amount {
	sum, _ := a.units.Add(b.units)
	return Amount{sum}
}

// Sub returns a - b, or 0 if b > a.
func (a Amount) Sub(b Amount) Amount {
	difference, _ := a.units.Sub(b.units)
	return Amount{difference}
}

// Big returns the number of units of 2^-80, a fresh value.
func (a Amount) Big() *big.Int { return a.units.Big() }

// FloatDown returns the greatest float64 that is not above a. For a below Max it
// is also the greatest f with Up(f) ≤ a.
func (a Amount) FloatDown() float64 { return a.float(state.RoundDown) }

// FloatUp returns the least float64 that is not below a.
func (a Amount) FloatUp() float64 { return a.float(state.RoundUp) }

// Root returns the greatest float64 f with SquareUp(f) ≤ a, where Max counts as the
// Amount below it: √a rounded down.
func (a Amount) Root() float64 {
	if a == Max {
		a = largestLimit
	}
	// The float64 root is at most two steps away from the one looked for.
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

func (a Amount) float(dir state.Rounding) float64 {
	length := bits.Len64(a.units.Hi) + 64
	if a.units.Hi == 0 {
		length = bits.Len64(a.units.Lo)
	}
	drop := max(0, length-mantissaBits)
	_, kept, rest := shiftRight(a.units.Hi, a.units.Lo, uint(drop))
	if rest && dir == state.RoundUp {
		kept++
	}
	return math.Ldexp(float64(kept), drop-unitBits)
}

func fromFloat(f float64, dir state.Rounding) Amount {
	if !(f > 0 && f <= math.MaxFloat64) {
		return outside(f, dir)
	}
	mantissa, exponent := split(f)
	return scale(0, mantissa, exponent+unitBits, dir)
}

func fromSquare(f float64, dir state.Rounding) Amount {
	f = math.Abs(f)
	if !(f > 0 && f <= math.MaxFloat64) {
		return outside(f, dir)
	}
	mantissa, exponent := split(f)
	hi, lo := bits.Mul64(mantissa, mantissa)
	return scale(hi, lo, 2*exponent+unitBits, dir)
}

// outside is the Amount of what is no positive finite number.
func outside(f float64, dir state.Rounding) Amount {
	switch {
	case f <= 0, math.IsNaN(f) && dir == state.RoundDown:
		return Amount{}
	case dir == state.RoundDown:
		return largestLimit
	}
	return Max
}

// split returns f = mantissa·2^exponent for a positive finite f.
func split(f float64) (mantissa uint64, exponent int) {
	const (
		fraction = 1<<(mantissaBits-1) - 1
		least    = -1074 // the exponent of the least positive float64
	)
	b := math.Float64bits(f)
	biased := int(b >> (mantissaBits - 1))
	if biased == 0 {
		return b, least
	}
	return b&fraction | (fraction + 1), least + biased - 1
}

// scale returns (hi·2^64 + lo)·2^shift in the direction given. hi·2^64 + lo is not 0.
func scale(hi, lo uint64, shift int, dir state.Rounding) Amount {
	if shift >= 0 {
		length := bits.Len64(lo)
		if hi != 0 {
			length = 64 + bits.Len64(hi)
		}
		if length+shift > 128 {
			return outside(math.Inf(1), dir)
		}
		hi, lo = shiftLeft(hi, lo, uint(shift))
		return capped(Amount{state.Precision{Hi: hi, Lo: lo}}, dir)
	}
	hi, lo, rest := shiftRight(hi, lo, uint(-shift))
	a := Amount{state.Precision{Hi: hi, Lo: lo}}
	if rest && dir == state.RoundUp {
		a = a.Add(Amount{state.Precision{Lo: 1}})
	}
	return capped(a, dir)
}

// capped keeps what was rounded down below Max.
func capped(a Amount, dir state.Rounding) Amount {
	if dir == state.RoundDown && a == Max {
		return largestLimit
	}
	return a
}

func shiftLeft(hi, lo uint64, n uint) (uint64, uint64) {
	if n >= 64 {
		return lo << (n - 64), 0
	}
	return hi<<n | lo>>(64-n), lo << n
}

// shiftRight drops the last n bits and tells whether one of them was set.
func shiftRight(hi, lo uint64, n uint) (shiftedHi, shiftedLo uint64, rest bool) {
	switch {
	case n == 0:
		return hi, lo, false
	case n >= 128:
		return 0, 0, hi|lo != 0
	case n >= 64:
		dropped := hi&(1<<(n-64)-1) | lo
		return 0, hi >> (n - 64), dropped != 0
	}
	return hi >> n, hi<<(64-n) | lo>>n, lo&(1<<n-1) != 0
}
