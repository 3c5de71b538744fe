package pld

import "math"

// elementary is the relative error assumed for math.Exp, Expm1, Log, Log1p, Erf and Erfc, with room
// for a handful of roundings around them: 8 units of 2^-53.
const elementary = 0x1p-50

// intervals collects a distribution on the losses (lo + i)·interval. Everything added is rounded so
// that the collected pair dominates the original.
type intervals struct {
	interval float64 // a power of two: every loss on the grid is exact
	share    float64 // 1 − e^−interval, rounded down
	lo       int     // index of mass[0]
	mass     []float64
	infinity float64
	cut      float64 // the part of infinity caused by the end of the grid
	slack    float64 // true losses exceed the grid's by at most this
	added    int     // greatest number of additions to one cell
	// exact, unless nil, receives the atoms instead of the grid.
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

// add puts probability p at the loss with index i. A loss below the grid moves up to its lowest
// point, one above it to infinity.
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

// spread puts probability p, whose losses L lie between grid points i and i + 1, on these two
// points. excess is (an upper bound on) the integral of 1 − e^(ε_i − L) over that part of P.
//
// Putting the share excess/(1 − e^−h) on the upper point preserves the probabilities under both P
// and Q, which raises the curve δ(ε) between the two points to its chord and leaves it everywhere
// else (connecting the dots). A greater share moves probability under P to a greater loss, which
// raises the curve further.
func (c *intervals) spread(i int, p, excess float64) {
	up := min(p, max(excess, 0)/c.share)
	c.add(i, p-up)
	c.add(i+1, up)
}

// atom puts probability p at any loss, between grid points too.
func (c *intervals) atom(loss, p float64) {
	if c.exact != nil {
		c.exact(loss, p)
		return
	}
	index := loss / c.interval // exact unless it overflows
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

// end places probability p, whose losses are above the last grid point, with the given excess over
// it. The part that preserves δ at the last grid point goes to infinity and the rest to that point,
// which connects the dots up to ε = ∞.
func (c *intervals) end(p, excess float64) {
	up := min(p, max(excess, 0)*(1+elementary))
	c.infinity += up
	c.cut += up
	c.add(c.last(), max(0, p-up))
}

// settle compensates for the rounding of the additions and for the slack: every loss rises by the
// slack, first by whole grid points, then by splitting its mass between two.
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
