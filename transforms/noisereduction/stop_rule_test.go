package noisereduction

import "math"

// sweptRule is a ladder and a stop rule in units of the true count: f = 1, so that a precision is s
// = u·f² and the estimate in standard deviations is X = √s + N(0, 1). The mechanism has no other
// scale, which is why one table serves every count.
type sweptRule struct {
	Relative   float64 // r, the relative target
	Confidence float64 // confidence of the accuracy promise
	Kappa      float64 // stop at z·σ ≤ κ·r·est, that is X ≥ z/(κ·r)
	Margin     float64 // adaptive: jump to where X + Margin would stop
	Step       float64 // geometric step; 0 means adaptive
	Shrink     float64 // published value = Shrink·estimate; 1 is the mean
	Widen      float64 // printed interval: estimate ± Widen·z·σ
}

// Z returns the two-sided normal quantile of the confidence.
func (r sweptRule) Z() float64 { return math.Sqrt2 * math.Erfinv(r.Confidence) }

// Barrier returns a = z/(κ·r): the rung at which X ≥ a is the last one.
func (r sweptRule) Barrier() float64 { return r.Z() / (r.Kappa * r.Relative) }

// Clairvoyant returns the least s that keeps the promise when the count is known: (z/r)².
func (r sweptRule) Clairvoyant() float64 { return math.Pow(r.Z()/r.Relative, 2) }

// Jump returns the number of ladder points from a rung at x to the next one.
func (r sweptRule) Jump(x float64) int {
	if r.Step != 0 {
		return 1
	}
	if x <= 0 {
		return maxJump
	}
	m := int(math.Floor(2 * octave * math.Log2(r.Barrier()/(x+r.Margin))))
	return min(max(m, 1), maxJump)
}

// ratio returns the step between neighbouring ladder points.
func (r sweptRule) ratio() float64 {
	if r.Step != 0 {
		return r.Step
	}
	return math.Exp2(1.0 / octave)
}

// ladders returns the steps of the classes of ladder that factors are fitted for: adaptive,
// geometric with steps from 1.05 and geometric with steps from 2.
func ladders() []float64 { return []float64{0, 1.05, 2} }
