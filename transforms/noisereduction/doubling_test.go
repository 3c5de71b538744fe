package noisereduction

import (
	"math"
)

// doublingRatio returns what a ladder of fresh noise pays for n rungs, all of them, relative to the
// last: (1 − step^-n)/(1 − 1/step).
func doublingRatio(step float64, n int) float64 {
	return (1 - math.Pow(step, -float64(n))) / (1 - 1/step)
}

// doublingCost returns what the baseline pays on average over counts, relative to the least that
// keeps the promise when the count is known: at every rung of a geometric ladder it draws fresh
// noise of the rung's whole precision, applies the same stop rule to that draw alone, and pays all
// rungs. Step must be set. The baseline's own errors are not fitted: it gets the factor of noise
// reduction.
func doublingCost(r sweptRule) float64 {
	const phases = 32
	a2 := r.Barrier() * r.Barrier()
	cost := 0.0
	for i := range phases {
		s := 1e-4 * a2 * math.Pow(r.Step, float64(i)/phases)
		going := 1.0
		for going > 1e-12 {
			cost += going / phases * s / r.Clairvoyant()
			going *= 1 - upper(r.Barrier()-math.Sqrt(s))
			s *= r.Step
		}
	}
	return cost
}

// upper returns 1 − Φ(x).
func upper(x float64) float64 { return 0.5 * math.Erfc(x/math.Sqrt2) }
