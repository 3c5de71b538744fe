package noisereduction

const (
	confidenceCount = 7
	targetCount     = 12
	ladderClasses   = 3
)

// factors are the fitted factors of a stop rule, in thousandths.
type factors struct {
	kappa int64 // κ for a relative target without an absolute one
	floor int64 // κ for a relative and an absolute target
	widen int64 // half-width of the printed interval in units of z·σ
}

// tableTargets returns the relative targets of the table of fitted factors.
func tableTargets() [targetCount]float64 {
	return [...]float64{.01, .02, .03, .05, .07, .1, .15, .2, .25, .3, .4, .5}
}

// tableConfidences returns the confidences of the table of fitted factors.
func tableConfidences() [confidenceCount]float64 {
	return [...]float64{.8, .9, .95, .98, .99, .995, .999}
}

// ladderClass returns the column of the table for a ladder. A geometric factor between two classes
// belongs to the finer class, which is stricter.
func ladderClass(s Spec) int {
	switch {
	case s.Kind == Adaptive:
		return 0
	case s.Factor < 2:
		return 1
	default:
		return 2
	}
}

// factorsFor returns the factors for a target. If the table does not contain the target, these are
// the strictest of the surrounding entries.
func factorsFor(s Spec) factors {
	table := fitted()
	targets, confidences := tableTargets(), tableConfidences()
	t0, t1 := enclosing(targets[:], s.Target.Relative)
	c0, c1 := enclosing(confidences[:], s.Target.Confidence)
	class := ladderClass(s)
	f := table[c0][t0][class]
	for _, c := range []int{c0, c1} {
		for _, t := range []int{t0, t1} {
			g := table[c][t][class]
			f.kappa = min(f.kappa, g.kappa)
			f.floor = min(f.floor, g.floor)
			f.widen = max(f.widen, g.widen)
		}
	}
	return f
}

// enclosing returns the indices of the nodes that enclose v. If v is a node or outside their range,
// both are the index of the nearest node.
func enclosing(nodes []float64, v float64) (int, int) {
	for i, node := range nodes {
		if v == node || v < node && i == 0 {
			return i, i
		}
		if v < node {
			return i - 1, i
		}
	}
	return len(nodes) - 1, len(nodes) - 1
}
