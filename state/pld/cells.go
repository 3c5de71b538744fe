package pld

import "math"

// elementaryError is a bound on the relative error of math.Exp, Expm1, Log, Log1p, Erf and Erfc
// together with a few roundings around them: 8 units of 2^-53.
const elementaryError = 0x1p-50

// cells collects a distribution on the losses (lo + i)·interval. Additions are rounded such that
// the collected pair dominates the original pair.
type cells struct {
	interval     float64 // a power of two: every loss on the grid is exact
	unitExcess   float64 // 1 − e^−interval, rounded down
	lo           int     // index of mass[0]
	mass         []float64
	infinityMass float64
	cut          float64 // part of infinityMass that is due to the end of the grid
	slack        float64 // bound on the excess of true losses over the losses of the grid
	maxAdditions int     // maximum number of additions to one cell
	// If exact is not nil, atoms go to exact instead of to the grid.
	exact func(loss, p float64)
}

func newCells(interval float64, lo, size int) *cells {
	return &cells{
		interval:   interval,
		unitExcess: -math.Expm1(-interval) * (1 - elementaryError),
		lo:         lo,
		mass:       make([]float64, size),
	}
}

func (c *cells) loss(i int) float64 { return float64(i) * c.interval }

func (c *cells) last() int { return c.lo + len(c.mass) - 1 }

// add puts probability p at the loss with index i. A loss below the grid is moved up to the lowest
// point, and a loss above the grid to infinity.
func (c *cells) add(i int, p float64) {
	switch {
	case i > c.last():
		c.infinityMass += p
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
// Putting excess/(1 − e^−interval) on the upper point preserves the probabilities under both P and
// Q. This raises the curve δ(ε) between the two points to its chord and does not change it
// elsewhere (connecting the dots). Putting more on the upper point raises the curve further.
func (c *cells) spread(i int, p, excess float64) {
	up := min(p, max(excess, 0)/c.unitExcess)
	c.add(i, p-up)
	c.add(i+1, up)
}

// addAtom adds probability p at a loss that need not be a grid point.
func (c *cells) addAtom(loss, p float64) {
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
		c.addBeyond(p, p*-math.Expm1(c.loss(c.last())-loss))
		return
	}
	i := int(math.Floor(index))
	c.spread(i, p, p*-math.Expm1(c.loss(i)-loss)*(1+elementaryError))
}

// addBeyond adds probability p, whose losses are above the last grid point and whose excess over
// that point is given. The part that preserves δ at the last grid point goes to infinity, and the
// rest goes to that point. This connects the dots up to ε = ∞.
func (c *cells) addBeyond(p, excess float64) {
	up := min(p, max(excess, 0)*(1+elementaryError))
	c.infinityMass += up
	c.cut += up
	c.add(c.last(), max(0, p-up))
}

// settle compensates for the rounding of additions and for the slack. It raises every loss by the
// slack: first by a whole number of grid points, then by splitting its mass between two points.
func (c *cells) settle() {
	margin := 1 + float64(c.maxAdditions+16)*0x1p-52
	whole := math.Floor(c.slack / c.interval)
	fraction := min(1, (c.slack-float64(whole*c.interval))/c.unitExcess)
	steps := int(min(whole, float64(len(c.mass))))
	for i := len(c.mass) - 1; i >= 0; i-- {
		p := c.mass[i] * margin
		c.mass[i] = 0
		up := min(p, p*fraction)
		c.add(c.lo+i+steps, p-up)
		c.add(c.lo+i+steps+1, up)
	}
	for i := range c.mass {
		c.mass[i] *= 1 + 0x1p-50
	}
	c.infinityMass = min(1, c.infinityMass*margin)
	c.cut = min(1, c.cut*margin)
}
