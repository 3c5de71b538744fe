package pld

import "math"

// lattice is the set of the finite losses of a composition: (first + j·step)·unit for 0 ≤ j ≤ last.
type lattice struct {
	unit        float64 // a power of two
	first, step int
	last        int
}

func (l lattice) loss(j int) float64 { return float64(l.first+j*l.step) * l.unit }

// index returns the greatest j, not limited to the lattice, with loss(j) ≤ epsilon.
func (l lattice) index(epsilon float64) int {
	j := math.Floor((math.Floor(epsilon/l.unit) - float64(l.first)) / float64(l.step))
	return int(max(-1, min(float64(l.last)+1, j)))
}

// curve is an upper bound of δ as a function of ε ≥ 0: its values at the losses
// j = from, from+1, … of a lattice. Between two of them the true δ is convex in
// e^ε, so that the chord is an upper bound; beyond the last it is at most floor.
type curve struct {
	lattice
	from     int
	delta    []float64 // never rises, never below floor, at most 1
	floor    float64
	inherent float64 // probability of an unbounded loss that the pairs themselves have
}

func newCurve(l lattice, from, to int, floor, inherent float64) curve {
	c := curve{lattice: l, from: from, floor: min(1, floor), inherent: inherent, delta: make([]float64, to-from+1)}
	for i := range c.delta {
		c.delta[i] = 1
	}
	return c
}

// lower records a further upper bound of δ at one index.
func (c *curve) lower(index int, bound float64) {
	if i := index - c.from; i >= 0 && i < len(c.delta) {
		c.delta[i] = min(c.delta[i], bound)
	}
}

// finish makes the curve monotone and puts the floor under it.
func (c *curve) finish() {
	best := c.floor
	for i := len(c.delta) - 1; i >= 0; i-- {
		best = max(best, c.delta[i])
		c.delta[i] = best
	}
}

// raised is the factor by which a chord is raised for the rounding of its own arithmetic.
const raised = 1 + 0x1p-48

func (c curve) deltaAt(epsilon float64) float64 {
	j := c.index(epsilon)
	if j < c.from {
		// δ is 1 at e^ε = 0 at most.
		return min(1, raised*(1-math.Exp(epsilon-c.loss(c.from))*(1-elementary)*(1-c.delta[0])))
	}
	i := j - c.from
	if i >= len(c.delta) {
		return c.floor
	}
	left := c.delta[i]
	if i+1 == len(c.delta) {
		return left
	}
	right := c.delta[i+1]
	share := math.Expm1(epsilon-c.loss(j)) / math.Expm1(float64(c.step)*c.unit)
	return min(left, max(right, (left-(left-right)*share)*raised))
}

func (c curve) epsilonAt(delta float64) float64 {
	if delta < c.floor {
		return math.Inf(1)
	}
	if c.deltaAt(0) <= delta {
		return 0
	}
	// The first grid point whose δ is small enough, or the one after the last.
	lo, hi := 0, len(c.delta)
	for lo < hi {
		if mid := (lo + hi) / 2; c.delta[mid] <= delta {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	top := max(0, c.loss(c.from+lo))
	bottom := 0.0
	if lo > 0 {
		bottom = max(0, c.loss(c.from+lo-1))
	}
	// deltaAt does not rise between grid points but for its rounding, so halving
	// finds an ε at which it is at most delta, the least up to that rounding.
	for range 200 {
		mid := bottom + (top-bottom)/2
		if mid <= bottom || mid >= top {
			break
		}
		if c.deltaAt(mid) <= delta {
			top = mid
		} else {
			bottom = mid
		}
	}
	return top
}
