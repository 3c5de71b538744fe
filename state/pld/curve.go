package pld

import "math"

// lattice is the set of finite losses of a composition: (first + j·step)·unit for 0 ≤ j ≤ last.
type lattice struct {
	unit        float64 // a power of two
	first, step int
	last        int
}

func (l lattice) loss(j int) float64 { return float64(l.first+j*l.step) * l.unit }

// index returns the greatest j with loss(j) ≤ epsilon, limited to the range from −1 to last+1.
func (l lattice) index(epsilon float64) int {
	j := math.Floor((math.Floor(epsilon/l.unit) - float64(l.first)) / float64(l.step))
	return int(max(-1, min(float64(l.last)+1, j)))
}

// curve is an upper bound on δ as a function of ε ≥ 0. It is given by its values at the losses j =
// from, from+1, … of a lattice. The true δ is convex in e^ε, so the chord between two losses is an
// upper bound. Beyond the last loss, δ is at most floor.
type curve struct {
	lattice
	from     int
	delta    []float64 // nonincreasing, between floor and 1
	floor    float64
	inherent float64 // probability of an unbounded loss in the pairs themselves
}

func newCurve(l lattice, from, to int, floor, inherent float64) curve {
	c := curve{lattice: l, from: from, floor: min(1, floor), inherent: inherent, delta: make([]float64, to-from+1)}
	for i := range c.delta {
		c.delta[i] = 1
	}
	return c
}

// lower reduces δ at an index to another upper bound, if that is smaller.
func (c *curve) lower(index int, bound float64) {
	if i := index - c.from; i >= 0 && i < len(c.delta) {
		c.delta[i] = min(c.delta[i], bound)
	}
}

// finish makes the curve monotone and at least floor.
func (c *curve) finish() {
	best := c.floor
	for i := len(c.delta) - 1; i >= 0; i-- {
		best = max(best, c.delta[i])
		c.delta[i] = best
	}
}

// boundMargin is a factor that covers the rounding errors in the computation of a bound.
const boundMargin = 1 + 0x1p-48

func (c curve) deltaAt(epsilon float64) float64 {
	j := c.index(epsilon)
	if j < c.from {
		// The chord from e^ε = 0, where δ is at most 1.
		return min(1, boundMargin*(1-math.Exp(epsilon-c.loss(c.from))*(1-elementaryError)*(1-c.delta[0])))
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
	return min(left, max(right, (left-(left-right)*share)*boundMargin))
}

func (c curve) epsilonAt(delta float64) float64 {
	if delta < c.floor {
		return math.Inf(1)
	}
	if c.deltaAt(0) <= delta {
		return 0
	}
	// Find the first grid point whose δ is at most delta, or the index after the last point.
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
	// Between grid points, deltaAt increases only because of rounding. Bisection thus finds an ε at
	// which deltaAt is at most delta, and it is the least such ε up to rounding.
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
