package noisereduction

import "math"

// sweptFactors are the fitted parts of a stop rule.
type sweptFactors struct {
	Kappa float64 // relative target alone
	Floor float64 // relative target beside an absolute one, used for both
	Widen float64 // printed interval: ± Widen·z·σ
}

// slack keeps fitted probabilities this much below 1 − confidence: it
// covers the grid of the sweep and ladder ends that lie between its points.
const slack = 0.99

// ends returns the list of positions for a ladder's top or floor precision, in units of the
// precision a² at which the typical estimate stops: for small targets what
// matters is the distance in standard deviations, for great ones the ratio.
func (r sweptRule) ends() []float64 {
	near := func(deviations float64) float64 { return math.Pow(1+deviations/r.Barrier(), 2) }
	ends := []float64{0.6, 0.8, 1, near(1.5), near(3), 1.4, 2.5}
	if r.coarse() {
		ends = append(ends, 0.45, 0.7, 0.9, near(1), near(2), near(2.5), 1.2, 1.7, 2, 3)
	}
	return ends
}

// coarse: few rungs, so that it matters much where they lie.
func (r sweptRule) coarse() bool { return r.Step >= 1.3 }

// phases returns the number of positions tried for the rung nearest the barrier.
func (r sweptRule) phases() int {
	if r.coarse() {
		return 24
	}
	return 6
}

// Fit finds the greatest factors for which no count, first rung, top or
// floor makes a met release wrong, or leaves the printed interval, more
// often than the confidence of r allows. Kappa and Widen of r are ignored.
//
// near is where the search begins: the factors of a similar rule.
func (w *sweeper) Fit(r sweptRule, near sweptFactors) sweptFactors {
	allowed := slack * (1 - r.Confidence)
	var f sweptFactors
	f.Kappa = w.FitKappa(r, near.Kappa)
	f.Floor = solve(math.Min(near.Floor, f.Kappa), func(k float64) float64 {
		r.Kappa = k
		return w.worstFloor(r, wrong).Wrong / allowed
	})
	f.Floor = math.Min(f.Floor, f.Kappa)
	f.Widen = 1 / solve(1/near.Widen, func(k float64) float64 {
		r.Widen = 1 / k
		r.Kappa = f.Kappa
		plain := w.worstPlain(r, out).Out
		r.Kappa = f.Floor
		return math.Max(plain, w.worstFloor(r, out).Out) / allowed
	})
	f.Widen = math.Max(f.Widen, 1)
	return f
}

// FitKappa returns the part of Fit for a relative target alone.
func (w *sweeper) FitKappa(r sweptRule, near float64) float64 {
	return solve(near, func(k float64) float64 {
		r.Kappa = k
		return w.worstPlain(r, wrong).Wrong / (slack * (1 - r.Confidence))
	})
}

// WorstPlain returns the worst over counts, first rungs and tops of a rule
// without an absolute target: Wrong and Out are set.
func (w *sweeper) WorstPlain(r sweptRule) swept { return w.worstPlain(r, wrong, out) }

// WorstFloor returns what WorstPlain does, over absolute targets, too, all positions of the
// floor tried.
func (w *sweeper) WorstFloor(r sweptRule) swept { return w.worstFloor(r, wrong, out) }

func (w *sweeper) worstPlain(r sweptRule, want ...quantity) swept {
	a2 := r.Barrier() * r.Barrier()
	// Far below a high barrier nothing crosses it by chance.
	lowest := a2 / 400
	if r.Barrier() < 20 {
		lowest = 0.01
	}
	n := r.phases()
	var worst swept
	for i := range n {
		c := sweptEnd{At: 9 * a2 * math.Pow(r.ratio(), float64(i)/float64(n))}
		worst = worse(worst, worstOf(w.sweep(r, c, lowest, want...)))
		lowest = math.Max(lowest, a2/50) // once is enough
	}
	for _, last := range lastSteps(r) {
		for _, at := range r.ends() {
			worst = worse(worst, worstOf(w.sweep(r, sweptEnd{At: at * a2, Last: last}, a2/300, want...)))
		}
	}
	return worst
}

// worstFloor: an absolute target of t·r·f stops at a²/t².
func (w *sweeper) worstFloor(r sweptRule, want ...quantity) swept {
	a2 := r.Barrier() * r.Barrier()
	worst := w.worstPlain(r, want...)
	for _, last := range lastSteps(r) {
		for _, at := range r.ends() {
			c := sweptEnd{At: at * a2, Last: last, Floor: r.Relative / math.Sqrt(at)}
			worst = worse(worst, worstOf(w.sweep(r, c, a2/300, want...)))
		}
	}
	return worst
}

// Typical returns what an unbounded ladder that starts far below its stop does on
// average over counts (uniform in their logarithm).
func (w *sweeper) Typical(r sweptRule) swept {
	const phases = 8
	a2 := r.Barrier() * r.Barrier()
	var mean swept
	for i := range phases {
		c := sweptEnd{At: 9 * a2 * math.Pow(r.ratio(), float64(i)/phases)}
		starts := w.Sweep(r, c, 1e-4*a2/16)
		if r.Step == 0 {
			starts = starts[len(starts)-maxJump:]
		} else {
			starts = starts[len(starts)-1:]
		}
		n := float64(phases * len(starts))
		for _, s := range starts {
			mean.Wrong += s.Wrong / n
			mean.Met += s.Met / n
			mean.Cost += s.Cost / n
			mean.Out += s.Out / n
		}
	}
	return mean
}

func lastSteps(r sweptRule) []float64 {
	if !r.coarse() {
		return []float64{1}
	}
	return []float64{1.05, math.Pow(r.Step, 0.25), math.Sqrt(r.Step), math.Pow(r.Step, 0.75), r.Step}
}

func worstOf(starts []swept) swept {
	var w swept
	for _, s := range starts {
		w = worse(w, s)
	}
	return w
}

func worse(a, b swept) swept {
	return swept{
		Wrong: math.Max(a.Wrong, b.Wrong), Out: math.Max(a.Out, b.Out),
		Cost: math.Max(a.Cost, b.Cost), Met: math.Max(a.Met, b.Met),
	}
}

// solve returns an x within 0.001 of the greatest with f(x) ≤ 1, for an
// increasing f, searching from guess.
func solve(guess float64, f func(float64) float64) float64 {
	const tolerance, enough = 0.001, -0.005
	at := func(x float64) float64 { return math.Log(f(x)) }
	lo, bottom := guess, at(guess)
	hi, top := lo, bottom
	for width := 0.008; bottom > 0; width *= 2 {
		hi, top = lo, bottom
		lo -= width
		bottom = at(lo)
	}
	for width := 0.008; top <= 0; width *= 2 {
		lo, bottom = hi, top
		hi += width
		top = at(hi)
	}
	for hi-lo > tolerance && bottom < enough {
		// Secant between the ends, kept away from both.
		x := lo + (hi-lo)*math.Min(math.Max(-bottom/(top-bottom), 0.1), 0.9)
		if v := at(x); v <= 0 {
			lo, bottom = x, v
		} else {
			hi, top = x, v
		}
	}
	return lo
}
