package simulate

import "math"

// DoublingRatio is what a ladder of fresh noise pays for n rungs, all of
// them, relative to the last: (1 − step^-n)/(1 − 1/step).
func DoublingRatio(step float64, n int) float64 {
	return (1 - math.Pow(step, -float64(n))) / (1 - 1/step)
}

// Doubling is what the baseline does on average over counts: at every rung
// of a geometric ladder it draws fresh noise of the rung's whole precision,
// applies the same stop rule to that draw alone, and pays all rungs. Step
// must be set. The baseline's own errors are not fitted: it gets the factor
// of noise reduction.
func Doubling(r Rule) Start {
	const phases = 32
	a2 := r.Barrier() * r.Barrier()
	var mean Start
	for i := range phases {
		s := 1e-4 * a2 * math.Pow(r.Step, float64(i)/phases)
		going := 1.0
		for going > 1e-12 {
			root := math.Sqrt(s)
			stop := upper(r.Barrier() - root)
			mean.Wrong += going / phases * (upper(math.Max(r.Barrier()-root, r.Relative*root)) +
				math.Max(0, stop-upper(-r.Relative*root)))
			mean.Cost += going / phases * s / r.Clairvoyant()
			going *= 1 - stop
			s *= r.Step
		}
	}
	mean.Met = 1
	return mean
}

// upper is 1 − Φ(x).
func upper(x float64) float64 { return 0.5 * math.Erfc(x/math.Sqrt2) }
