package pld

import (
	"math"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
)

// MinScale and MaxScale bound the noise of the Laplace pair.
const (
	MinScale = 0x1p-10
	MaxScale = 0x1p40
)

// Laplace is the pair of the Laplace mechanism: Laplace noise of scale b around 0
// and around 1. Its loss is 1/b with probability 1/2, −1/b with probability
// e^(−1/b)/2, and has the density e^((l − 1/b)/2)/4 between.
type Laplace struct {
	Scale float64 // b, the scale of the noise divided by the L1 sensitivity, in [MinScale, MaxScale]
}

// Validate returns a *units.RangeError that names scale where it is out of its
// range.
func (l Laplace) Validate() error { return positive("scale", l.Scale, MinScale, MaxScale) }

func (l Laplace) symmetric() bool { return true }

// largest returns the greatest loss, 1/b rounded up: less noise dominates more.
func (l Laplace) largest() float64 { return rounding.QuotientUp(1, l.Scale) }

func (l Laplace) extent(Direction, float64) extent {
	top := l.largest()
	return extent{low: -top, high: top, spread: top / 2}
}

func (l Laplace) fill(_ Direction, c *intervals) error {
	c.added = 8
	top := l.largest()
	room := 1 + elementary*(1+top)
	c.atom(top, 0.5)
	c.atom(-top, 0.5*math.Exp(-top)*room)

	first := math.Floor(-top / c.interval)
	last := math.Floor(top / c.interval)
	if below := float64(c.lo); first < below {
		c.add(c.lo, 0.5*math.Exp(-top)*math.Expm1((min(top, c.loss(c.lo))+top)/2)*room)
		first = below
	}
	if first < float64(c.lo) || first > float64(c.last()) {
		c.add(c.last()+1, 0.5*room)
		return nil
	}
	for i := int(first); i <= c.last() && float64(i) <= last; i++ {
		from, to := max(-top, c.loss(i)), min(top, c.loss(i+1))
		// The mass of [from, to] is (e^((to−λ)/2) − e^((from−λ)/2))/2, its excess over
		// the loss `from` is e^((from−λ)/2)·2·sinh²((to−from)/4).
		scale := math.Exp((from-top)/2) * room
		p := scale * 0.5 * math.Expm1((to-from)/2) * (1 + elementary)
		sinh := math.Sinh((to - from) / 4)
		excess := scale * 2 * sinh * sinh * (1 + elementary)
		gap := from - c.loss(i)
		c.spread(i, p, (p*-math.Expm1(-gap)+excess)*(1+elementary))
	}
	if above := c.loss(c.last() + 1); above < top {
		c.add(c.last()+1, 0.5*room*-math.Expm1((above-top)/2))
	}
	return nil
}
