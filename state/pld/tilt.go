package pld

import "math"

const (
	// reach is the depth below its best point, in nats, down to which a tilted distribution is used
	// for δ. At that depth, the error of its transform relative to δ is e^reach times as large.
	reach = 8
	// windowDepth limits the part of a tilted distribution outside the window to e^−windowDepth,
	// and thus to e^(reach−windowDepth) = 8e-10 of any δ that is computed from it.
	windowDepth = 29
	// summaryPoints is about the maximum number of points in the summary of a measure.
	summaryPoints = 1024
)

// shape is a summary of the composition for choosing tilts and windows.
type shape struct {
	parts  []summary
	counts []float64
}

func shapeOf(factors []factor) shape {
	var s shape
	for _, f := range factors {
		s.parts = append(s.parts, f.summarise(summaryPoints))
		s.counts = append(s.counts, float64(f.count))
	}
	return s
}

func (s shape) cumulants(t float64) (k, mean, variance float64) {
	for i, p := range s.parts {
		a, b, v := p.cumulants(t)
		k += s.counts[i] * a
		mean += s.counts[i] * b
		variance += s.counts[i] * v
	}
	return k, mean, variance
}

// tilts returns the values of θ with which the composition is tilted by e^(θ·loss) and transformed.
// The first θ is 0. Let e^C(x), with C(x) = min_θ K(θ) − θx, be Chernoff's bound on the probability
// of a loss above x. Each further θ is the smallest with K(θ) − θx ≤ C(x) + reach, where x is the
// point at which the previous θ ceases to be good enough. The last θ is that for which e^C(x) is
// MinDelta. For a normal composition, x increases by 2·√(2·reach) standard deviations with each θ.
// If Options.Delta is set, only the θ for its x is needed.
func (c *composition) tilts(s shape) []float64 {
	if target := math.Log(c.options.Delta); c.options.Delta > 0 {
		if best, ok := s.solve(target, 0); ok {
			_, x, _ := s.cumulants(best)
			return []float64{s.smallest(x, target+reach, 0, best)}
		}
	}
	tilts := []float64{0}
	least := math.Log(max(c.options.MinDelta, c.infinityMass))
	step := math.Sqrt(2 * reach)
	for edge := step; -edge*edge/2 > least; {
		edge += 2 * step
		target := max(-edge*edge/2, least)
		best, ok := s.solve(target, tilts[len(tilts)-1])
		if !ok {
			return tilts
		}
		_, x, _ := s.cumulants(best)
		tilts = append(tilts, s.smallest(x, target+reach, tilts[len(tilts)-1], best))
	}
	return tilts
}

// smallest returns about the smallest θ between lo and hi with K(θ) − θx ≤ bound. hi satisfies it.
func (s shape) smallest(x, bound, lo, hi float64) float64 {
	for range 20 {
		mid := (lo + hi) / 2
		if k, _, _ := s.cumulants(mid); k-mid*x > bound {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// solve returns the θ > above with K(θ) − θK'(θ) = target. It returns false if there is no such θ,
// because the greatest loss has too high a probability.
func (s shape) solve(target, above float64) (float64, bool) {
	const steepest = 0x1p24
	depth := func(theta float64) float64 {
		k, mean, _ := s.cumulants(theta)
		return k - theta*mean
	}
	lo, hi := above, max(2*above, 0x1p-10)
	for depth(hi) > target {
		lo, hi = hi, 2*hi
		if hi > steepest {
			return 0, false
		}
	}
	for range 20 {
		if mid := (lo + hi) / 2; depth(mid) > target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi, true
}

// window is the part of the lattice on which a tilted composition is computed.
type window struct {
	low, size int     // size is a power of two
	chernoff  float64 // the θ for Chernoff's bound on the mass above the window
}

// windowFor returns a window outside which the tilted composition has a mass of at most about
// e^−windowDepth. On either side, the window is the smallest for which Chernoff's bound proves
// this, with an exponent from a geometric range.
func (c *composition) windowFor(s shape, theta float64) (window, error) {
	k, mean, variance := s.cumulants(theta)
	deviation := math.Sqrt(variance) + c.lattice.unit
	top, bottom, chernoff := math.Inf(1), math.Inf(-1), theta
	for exponent := -8.0; exponent <= 8; exponent += 0.5 {
		t := math.Exp2(exponent) / deviation
		up, _, _ := s.cumulants(theta + t)
		if bound := (up - k + windowDepth) / t; bound < top {
			top, chernoff = bound, theta+t
		}
		down, _, _ := s.cumulants(theta - t)
		bottom = max(bottom, (k-down-windowDepth)/t)
	}
	top, bottom = max(top, mean), min(bottom, mean)
	gap := float64(c.lattice.step) * c.lattice.unit
	low := math.Floor((bottom - c.lattice.loss(0)) / gap)
	high := math.Ceil((top-c.lattice.loss(0))/gap) + 1
	low, high = max(0, min(low, float64(c.lattice.last))), min(float64(c.lattice.last), max(high, 0))
	size := 16.0
	for size < high-low+1 {
		size *= 2
	}
	if size > float64(c.options.MaxPoints) {
		return window{}, &SizeError{Points: size, Limit: c.options.MaxPoints, Interval: c.lattice.unit}
	}
	return window{low: int(low), size: int(size), chernoff: chernoff}, nil
}

// beyond returns an upper bound on the probability of a finite loss above the window: e^(K(t) −
// t·x) for the upper end x of the window.
func (c *composition) beyond(w window) float64 {
	if w.low+w.size > c.lattice.last {
		return 0
	}
	t := max(0, w.chernoff)
	exponent := -t * c.lattice.loss(w.low+w.size)
	size := math.Abs(exponent)
	for _, f := range c.factors {
		m := float64(f.count) * f.logMoment(t)
		exponent += m
		size += math.Abs(m)
	}
	exponent += size * float64(len(c.factors)+8) * 0x1p-52
	return min(1, math.Exp(exponent)*(1+elementaryError))
}
