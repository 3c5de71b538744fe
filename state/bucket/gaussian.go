package bucket

import "math"

// tangent is a lower bound on the curve γ = e^ε ↦ δ(γ) of a μ-GDP mechanism at one ε, with the
// curve's slope. The curve is convex, and its slope is −Φ(−ε/μ − μ/2) (Corollary C.2). δ is rounded
// down because another curve must be shown to be below it. (Package budgets rounds it up because
// there it is a claim.)
type tangent struct {
	delta    float64 // δ(ε), rounded down
	slope    float64 // e^ε·Φ(−ε/μ − μ/2), which is γ times the negative slope
	errBound float64 // bound on the errors of delta and slope
}

// tangentAt computes the tangent at ε ≥ 0 for μ > 0. A relative error r in x changes the normal
// tail at x by a relative error of at most r·(x² + 1).
func tangentAt(mu, epsilon float64) tangent {
	a, b := epsilon/mu-mu/2, epsilon/mu+mu/2
	upper := math.Erfc(a*(1/math.Sqrt2)) / 2
	// e^ε·Φ(−b) = φ(a)·Mills(b), without the overflow of e^ε.
	slope := math.Min(upper, math.Exp(epsilon)*math.Erfc(b*(1/math.Sqrt2))/2)
	if epsilon > 700 || math.IsNaN(slope) {
		return tangent{}
	}
	errBound := upper*(16+2*b*b+epsilon)*4*unit + 1e-19 // for a subnormal erfc
	return tangent{delta: math.Max(0, upper-slope-errBound), slope: slope, errBound: errBound}
}

// staysAbove reports whether a curve is at or above a chord, lowered by slack, in the entire
// interval from ε to ε + step. The chord goes from (ε, from) to (ε + step, to), and the curve must
// be at or above the lowered chord at both ends. a and b are the curve's tangents at the ends. The
// curve is above both tangents, and their maximum minus the chord is smallest where they meet.
func staysAbove(a, b tangent, step, from, to, slack float64) bool {
	if from <= slack {
		return true // the lowered chord is at most 0, because to ≤ from
	}
	width := math.Expm1(step) // (γ_b − γ_a)/γ_a
	slopeBefore := b.slope * math.Exp(-step)
	meet := (a.delta - b.delta - slopeBefore*width) / (a.slope - slopeBefore)
	if !(meet > 0 && meet < width) {
		return true // one tangent is above the other on the entire interval
	}
	// Even if meet is rounded, one of the two tangents there is no farther above the chord than the
	// minimum over the interval of their maximum.
	height := math.Min(a.delta-a.slope*meet, b.delta+slopeBefore*(width-meet))
	chord := from + (to-from)*(meet/width)
	margin := (a.errBound+b.errBound)*(2+width) + 16*unit*(a.delta+a.slope*width)
	return math.Max(height-margin, 0)+slack >= chord*(1+8*unit)
}
