package bucket

import "math"

// tangent is a lower bound on the curve γ = e^ε ↦ δ(γ) of a μ-GDP mechanism at one ε, with its
// slope: the curve is convex with slope −Φ(−ε/μ − μ/2) (Corollary C.2). Package budgets rounds this
// δ up because there it is a claim; here it must lie above a claim, so it is rounded down.
type tangent struct {
	delta    float64 // δ(ε), rounded down
	slope    float64 // e^ε·Φ(−ε/μ − μ/2): the negative slope times γ
	errBound float64 // bounds the errors of delta and slope
}

// tangentAt computes the tangent at ε ≥ 0 for μ > 0. A relative error r in x changes the normal
// tail at x by a relative r·(x² + 1) at most.
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

// staysAbove reports whether a curve that is at or above the chord from (ε, from) to (ε + step,
// to), lowered by slack, at both ends is so on the whole interval. a and b are its tangents at the
// ends. The curve is above both, and their maximum minus the chord is least where they meet.
func staysAbove(a, b tangent, step, from, to, slack float64) bool {
	if from <= slack {
		return true // to is not greater
	}
	width := math.Expm1(step) // (γ_b − γ_a)/γ_a
	slopeBefore := b.slope * math.Exp(-step)
	meet := (a.delta - b.delta - slopeBefore*width) / (a.slope - slopeBefore)
	if !(meet > 0 && meet < width) {
		return true // one tangent is above the other on the whole interval
	}
	// At whatever point meet was rounded to, one of the two tangents is no farther above the chord
	// than their maximum ever is at the least.
	height := math.Min(a.delta-a.slope*meet, b.delta+slopeBefore*(width-meet))
	chord := from + (to-from)*(meet/width)
	margin := (a.errBound+b.errBound)*(2+width) + 16*unit*(a.delta+a.slope*width)
	return math.Max(height-margin, 0)+slack >= chord*(1+8*unit)
}
