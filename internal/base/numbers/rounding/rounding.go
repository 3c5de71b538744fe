package rounding

import "math"

// TwoSum returns a + b, rounded to nearest, and rest, the exact sum minus the rounded one (Knuth,
// The Art of Computer Programming, volume 2, Section 4.2.2, Theorem B). Arguments may be negative.
// rest is NaN if the sum is infinite.
func TwoSum(a, b float64) (sum, rest float64) {
	sum = a + b
	part := sum - a
	return sum, (a - (sum - part)) + (b - part)
}

// SumUp returns a + b, rounded up. Arguments may be +Inf.
func SumUp(a, b float64) float64 {
	sum, rest := TwoSum(a, b)
	if rest > 0 {
		return above(sum)
	}
	return sum
}

// IntegerUp returns m, rounded up. Up to 2^53, that is m itself.
func IntegerUp(m uint64) float64 {
	const half = 1 << 32
	return SumUp(float64(m/half*half), float64(m%half)) // both numbers are exact
}

// ProductUp returns a·b, rounded up. One of the arguments may be +Inf if the other is above 0.
func ProductUp(a, b float64) float64 {
	p := a * b
	switch {
	case a == 0 || b == 0:
		return 0
	case p == 0, excess(a, b, p) > 0:
		return above(p)
	}
	return p
}

// QuotientUp returns a/b, rounded up, for b > 0.
func QuotientUp(a, b float64) float64 {
	q := a / b
	if excess(q, b, a) < 0 {
		return above(q)
	}
	return q
}

// QuotientDown returns a/b, rounded down, for b > 0. The result is never +Inf.
func QuotientDown(a, b float64) float64 {
	q := a / b
	if excess(q, b, a) > 0 {
		return math.Nextafter(q, 0)
	}
	return q
}

// RootUp returns √a, rounded up; a may be +Inf.
func RootUp(a float64) float64 {
	r := math.Sqrt(a)
	if excess(r, r, a) < 0 {
		return above(r)
	}
	return r
}

// excess returns a number with the sign of x·y − z, where x·y and z are one rounding apart, or x is
// 0. The difference is 0 or at least 2^-107·z. It is too small for a float64 only if z is below
// tiny, and x is then below 2^200. The result is NaN if infinities leave nothing to compare.
func excess(x, y, z float64) float64 {
	if z < tiny {
		x, z = x*0x1p600, z*0x1p600
	}
	return math.FMA(x, y, -z)
}

const tiny = 0x1p-900

func above(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
