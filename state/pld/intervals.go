package pld

import "math"

// elementary is a bound on the relative error of math.Exp, Expm1, Log, Log1p, Erf and Erfc together
// with a few roundings around them: 8 units of 2^-53.
const elementary = 0x1p-50

// intervals collects a distribution on the losses (lo + i)·interval. Additions are rounded such
// that the collected pair dominates the original pair.
type intervals struct {
	interval float64 // a power of two: every loss on the grid is exact
	share    float64 // 1 − e^−interval, rounded down
	lo       int     // index of mass[0]
	mass     []float64
	infinity float64
	cut      float64 // part of infinity that is due to the end of the grid
	slack    float64 // bound on the excess of true losses over the losses of the grid
	added    int     // maximum number of additions to one cell
	// exact, if not nil, receives the atoms instead of the grid.
	exact func(loss, p float64)
}

func newCells(interval float64, lo, size int) *intervals {
	return &intervals{
		interval: interval,
		share:    -math.Expm1(-interval) * (1 - elementary),
		lo:       lo,
		mass:     make([]float64, size),
	}
}

func (c *intervals) loss(i int) float64 { return float64(i) * c.interval }

func (c *intervals) last() int { return c.lo + len(c.mass) - 1 }

// add puts probability p at the loss with index i. A loss below the grid is moved up to the lowest
// point, and a loss above the grid to infinity.
func (c *intervals) add(i int, p float64) {
	switch {
	case i > c.last():
		c.infinity += p
		c.cut += p
	case i < c.lo:
		c.mass[0] += p
	default:
		c.mass[i-c.lo] += p
	}
}

// spread puts probability p, whose losses L are between grid points i and i + 1, on these two
// points. excess is an upper bound on the integral of 1 − e^(ε_i − L) over that part of P.
//
// Putting excess/(1 − e^−h) on the upper point preserves the probabilities under both P and Q. This
// raises the curve δ(ε) between the two points to its chord and does not change it elsewhere
// (connecting the dots). Putting more on the upper point raises the curve further.
func (c *intervals) spread(i int, p, excess float64) {
	up := min(p, max(excess, 0)/c.share)
	c.add(i, p-up)
	c.add(i+1, up)
}

// atom adds probability p at a loss that need not be a grid point.
func (c *intervals) atom(loss, p float64) {
	if c.exact != nil {
		c.exact(loss, p)
		return
	}
	index := loss / c.interval // exact, except on overflow
	switch {
	case index < float64(c.lo):
		c.add(c.lo, p)
		return
	case index > float64(c.last()):
		c.end(p, p*-math.Expm1(c.loss(c.last())-loss))
		return
	}
	i := int(math.Floor(index))
	c.spread(i, p, p*-math.Expm1(c.loss(i)-loss)*(1+elementary))
}

// end adds probability p, whose losses are above the last grid point and whose excess over that
// point is given. The part that preserves δ at the last grid point goes to infinity, and the rest
// goes to that point. This connects the dots up to ε = ∞.
func (c *intervals) end(p, excess float64) {
	up := min(p, max(excess, 0)*(1+elementary))
	c.infinity += up
	c.cut += up
	c.add(c.last(), max(0, p-up))
}

// settle compensates for the rounding of additions and for the slack. It raises every loss by the
// slack: first by an integer number of grid points, then by splitting its mass between two points.
func (c *intervals) settle() {
	margin := 1 + float64(c.added+16)*0x1p-52
	whole := math.Floor(c.slack / c.interval)
	share := min(1, (c.slack-float64(whole*c.interval))/c.share)
	steps := int(min(whole, float64(len(c.mass))))
	for i := len(c.mass) - 1; i >= 0; i-- {
		p := c.mass[i] * margin
		c.mass[i] = 0
		up := min(p, p*share)
		c.add(c.lo+i+steps, p-up)
		c.add(c.lo+i+steps+1, up)
	}
	for i := range c.mass {
		c.mass[i] *= 1 + 0x1p-50
	}
	c.infinity = min(1, c.infinity*margin)
	c.cut = min(1, c.cut*margin)
}
