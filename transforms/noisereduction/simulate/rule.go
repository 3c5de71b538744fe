package simulate

import "math"

// Octave is the number of ladder points per doubling of the precision on
// the adaptive ladder: its least step is 2^(1/14) = ×1.0508, its greatest
// 56 points = ×16.
const Octave = 14

// MaxJump is the greatest step of the adaptive ladder in points.
const MaxJump = 4 * Octave

// Rule is a ladder and a stop rule in units of the true count: f = 1, so
// that a precision is s = u·f² and the estimate in standard deviations is
// X = √s + N(0, 1). The mechanism has no other scale, which is why one
// table serves every count.
type Rule struct {
	Relative   float64 // r, the relative target
	Confidence float64 // of the promise
	Kappa      float64 // stop at z·σ ≤ κ·r·est, that is X ≥ z/(κ·r)
	Margin     float64 // adaptive: jump to where X + Margin would stop
	Step       float64 // geometric step; 0 means adaptive
	Shrink     float64 // published value = Shrink·estimate; 1 is the mean
	Widen      float64 // printed interval: estimate ± Widen·z·σ
}

// Z returns the two-sided normal quantile of the confidence.
func (r Rule) Z() float64 { return math.Sqrt2 * math.Erfinv(r.Confidence) }

// Barrier returns a = z/(κ·r): the rung at which X ≥ a is the last one.
func (r Rule) Barrier() float64 { return r.Z() / (r.Kappa * r.Relative) }

// Clairvoyant returns the least s that keeps the promise when the count is
// known: (z/r)².
func (r Rule) Clairvoyant() float64 { return math.Pow(r.Z()/r.Relative, 2) }

// Jump returns the number of ladder points from a rung at x to the next one.
func (r Rule) Jump(x float64) int {
	if r.Step != 0 {
		return 1
	}
	if x <= 0 {
		return MaxJump
	}
	m := int(math.Floor(2 * Octave * math.Log2(r.Barrier()/(x+r.Margin))))
	return min(max(m, 1), MaxJump)
}

// ratio returns the step between neighbouring ladder points.
func (r Rule) ratio() float64 {
	if r.Step != 0 {
		return r.Step
	}
	return math.Exp2(1.0 / Octave)
}

// Margin is what the adaptive ladder allows for an estimate that is too
// low, in standard deviations, when it computes the next precision.
const Margin = 2

// Targets returns the relative targets that factors are fitted for.
func Targets() []float64 {
	return []float64{.01, .02, .03, .05, .07, .1, .15, .2, .25, .3, .4, .5}
}

// Confidences returns the confidences that factors are fitted for.
func Confidences() []float64 { return []float64{.8, .9, .95, .98, .99, .995, .999} }

// Ladders returns the classes of ladder that factors are fitted for: adaptive,
// geometric with steps from 1.05 and geometric with steps from 2.
func Ladders() []float64 { return []float64{0, 1.05, 2} }
