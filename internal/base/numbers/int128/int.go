package int128

import (
	"math"
	"math/bits"
)

// Int is a sum of fewer than 2^64 int64 values: Hi·2^64 + Lo in two's complement.
type Int struct {
	Hi int64
	Lo uint64
}

// Add returns a + n.
func (a Int) Add(n int64) Int {
	lo, carry := bits.Add64(a.Lo, uint64(n), 0)
	return Int{a.Hi + n>>63 + int64(carry), lo}
}

// AddTimes returns a + n·times.
func (a Int) AddTimes(n int64, times uint64) Int {
	hi, lo := bits.Mul64(uint64(n), times)
	if n < 0 { // uint64(n) is n + 2^64
		hi -= times
	}
	lo, carry := bits.Add64(a.Lo, lo, 0)
	return Int{a.Hi + int64(hi) + int64(carry), lo}
}

// Abs returns |a|.
func (a Int) Abs() Uint {
	if a.Hi >= 0 {
		return Uint{uint64(a.Hi), a.Lo}
	}
	lo, borrow := bits.Sub64(0, a.Lo, 0)
	hi, _ := bits.Sub64(0, uint64(a.Hi), borrow)
	return Uint{hi, lo}
}

func (a Int) fits() bool { return a.Hi == int64(a.Lo)>>63 }

// Clamp returns the number from least to most that is nearest to a. Clamping is a contraction: it
// never moves two sums further apart.
func (a Int) Clamp(least, most int64) int64 {
	switch {
	case a.fits():
		return min(max(int64(a.Lo), least), most)
	case a.Hi < 0:
		return least
	}
	return most
}

// Parts calls add with int64 values that add up to a. It calls add once if a fits in an int64.
func (a Int) Parts(add func(n int64)) {
	for !a.fits() {
		part := int64(math.MaxInt64)
		if a.Hi < 0 {
			part = -math.MaxInt64
		}
		add(part)
		a = a.Add(-part)
	}
	add(int64(a.Lo))
}
