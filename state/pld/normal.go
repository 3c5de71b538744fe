package pld

import "math"

// edge is a point on the real line with the standard normal probability beyond it, away from 0.
type edge struct {
	x, tail, errBound float64 // |tail − (1 − Φ(|x|))| ≤ errBound
}

// edgeAt returns the edge at x, which may itself have a relative error of up to 2^-53. A relative
// error r in x changes the tail by a relative error of at most r·(x² + 1), because the hazard rate
// of the normal distribution at x > 0 is below x + 1/x.
func edgeAt(x float64) edge {
	if math.IsInf(x, 0) {
		return edge{x: x}
	}
	tail := 0.5 * math.Erfc(math.Abs(x)*(1/math.Sqrt2))
	return edge{x: x, tail: tail, errBound: tail * (elementaryError + 0x1p-51*(x*x+1))}
}

// normalMass returns the standard normal probability between a and b, a.x ≤ b.x, and a bound on its
// error.
func normalMass(a, b edge) (mass, errBound float64) {
	switch {
	case a.x >= 0:
		mass = a.tail - b.tail
	case b.x <= 0:
		mass = b.tail - a.tail
	default:
		if math.IsInf(a.x, -1) && math.IsInf(b.x, 1) {
			return 1, 0
		}
		mass = 0.5 * (math.Erf(b.x*(1/math.Sqrt2)) + math.Erf(-a.x*(1/math.Sqrt2)))
		return mass, mass * 2 * elementaryError
	}
	return max(mass, 0), a.errBound + b.errBound + max(mass, 0)*0x1p-52
}
