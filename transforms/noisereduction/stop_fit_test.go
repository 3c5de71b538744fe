package noisereduction

import "math"

// ends returns the list of positions for a ladder's top or floor precision, in units of the
// precision a² at which the typical estimate stops: small targets depend on the distance in
// standard deviations, large ones on the ratio.
func (r sweptRule) ends() []float64 {
	near := func(deviations float64) float64 { return math.Pow(1+deviations/r.Barrier(), 2) }
	ends := []float64{0.6, 0.8, 1, near(1.5), near(3), 1.4, 2.5}
	if r.coarse() {
		ends = append(ends, 0.45, 0.7, 0.9, near(1), near(2), near(2.5), 1.2, 1.7, 2, 3)
	}
	return ends
}

// coarse reports whether there are few rungs, so that their positions matter much.
func (r sweptRule) coarse() bool { return r.Step >= 1.3 }

// phases returns the number of positions tried for the rung nearest the barrier.
func (r sweptRule) phases() int {
	if r.coarse() {
		return 24
	}
	return 6
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
		for _, end := range r.ends() {
			worst = worse(worst, worstOf(w.sweep(r, sweptEnd{At: end * a2, Last: last}, a2/300, want...)))
		}
	}
	return worst
}

// worstFloor: an absolute target of t·r·f stops at a²/t².
func (w *sweeper) worstFloor(r sweptRule, want ...quantity) swept {
	a2 := r.Barrier() * r.Barrier()
	worst := w.worstPlain(r, want...)
	for _, last := range lastSteps(r) {
		for _, end := range r.ends() {
			c := sweptEnd{At: end * a2, Last: last, Floor: r.Relative / math.Sqrt(end)}
			worst = worse(worst, worstOf(w.sweep(r, c, a2/300, want...)))
		}
	}
	return worst
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
