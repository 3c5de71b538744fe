package mechanisms

import "math"

// up is the float64 after x, for x ≥ 0.
func up(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }

// productUp returns a·b rounded up, for a, b ≥ 0 and finite. It may be +Inf.
func productUp(a, b float64) float64 {
	p := a * b
	switch {
	case a == 0 || b == 0:
		return 0
	case p < tiny: // the remainder itself may have been rounded
		return up(p)
	case math.FMA(a, b, -p) > 0:
		return up(p)
	}
	return p
}

// quotientUp returns a/b rounded up, for a ≥ 0 and b > 0, finite. It may be +Inf.
func quotientUp(a, b float64) float64 {
	q := a / b
	switch {
	case a == 0:
		return 0
	case q < tiny || a < tiny: // the same
		return up(q)
	case math.FMA(q, b, -a) < 0:
		return up(q)
	}
	return q
}

// rootUp returns √a rounded up, for a ≥ 0 and finite.
func rootUp(a float64) float64 {
	r := math.Sqrt(a)
	if a > 0 && (a < tiny || math.FMA(r, r, -a) < 0) {
		return up(r)
	}
	return r
}

// tiny is far enough above the subnormal numbers for the remainder of an
// operation to be exact.
const tiny = 0x1p-900
