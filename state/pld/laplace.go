package pld

import (
	"math"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
)

// MinScale and MaxScale are the limits of Laplace.Scale.
const (
	MinScale = 0x1p-10
	MaxScale = 0x1p40
)

// Laplace is the pair of the Laplace mechanism: Laplace noise with scale b around 0 and around 1.
// The loss is 1/b with probability 1/2 and −1/b with probability e^(−1/b)/2. In between, it has the
// density e^((l − 1/b)/2)/4.
type Laplace struct {
	Scale float64 // b, the noise's scale divided by the L1 sensitivity, in [MinScale, MaxScale]
}

// Validate returns a *units.RangeError if scale is out of range.
func (l Laplace) Validate() error { return inRange("scale", l.Scale, MinScale, MaxScale) }

func (l Laplace) symmetric() bool { return true }

// largest returns the greatest loss, 1/b. It is rounded up, as less noise dominates more noise.
func (l Laplace) largest() float64 { return rounding.QuotientUp(1, l.Scale) }

func (l Laplace) extent(Direction, float64) extent {
	top := l.largest()
	return extent{low: -top, high: top, spread: top / 2}
}

func (l Laplace) fill(_ Direction, c *cells) error {
	c.maxAdditions = 8
	top := l.largest()
	margin := 1 + elementaryError*(1+top)
	c.addAtom(top, 0.5)
	c.addAtom(-top, 0.5*math.Exp(-top)*margin)
	c.addRising(top, margin)
	return nil
}

// addRising adds losses from −top to top, whose density is weight·e^((l − top)/2)/4.
func (c *cells) addRising(top, weight float64) {
	first := math.Floor(-top / c.interval)
	last := math.Floor(top / c.interval)
	if below := float64(c.lo); first < below {
		c.add(c.lo, 0.5*math.Exp(-top)*math.Expm1((min(top, c.loss(c.lo))+top)/2)*weight)
		first = below
	}
	if first < float64(c.lo) || first > float64(c.last()) {
		c.add(c.last()+1, 0.5*weight)
		return
	}
	for i := int(first); i <= c.last() && float64(i) <= last; i++ {
		from, to := max(-top, c.loss(i)), min(top, c.loss(i+1))
		// With λ = top, the mass of [from, to] is (e^((to−λ)/2) − e^((from−λ)/2))/2, and its excess
		// over the loss from is e^((from−λ)/2)·2·sinh²((to−from)/4).
		scale := math.Exp((from-top)/2) * weight
		p := scale * 0.5 * math.Expm1((to-from)/2) * (1 + elementaryError)
		sinh := math.Sinh((to - from) / 4)
		excess := scale * 2 * sinh * sinh * (1 + elementaryError)
		gap := from - c.loss(i)
		c.spread(i, p, (p*-math.Expm1(-gap)+excess)*(1+elementaryError))
	}
	if above := c.loss(c.last() + 1); above < top {
		c.add(c.last()+1, 0.5*weight*-math.Expm1((above-top)/2))
	}
}

// BoundedRange is the pair that dominates every mechanism with ε-bounded range, such as the
// exponential mechanism (Durfee and Rogers, 2019). The privacy losses of such a mechanism are in an
// interval of length ε. The pair's loss has the density e^((l − ε)/2)/(2(1 − e^−ε)) on [−ε, ε],
// which has the same form as that of Laplace.
//
// The worst pairs with bounded range have two outcomes, with losses t and t − ε (Dong, Durfee and
// Rogers, 2020). At e^s = z, with c = e^ε and a = e^(t−ε), such a pair has H_z = (1 − a)(c·a −
// z)/(a(c − 1)). This is greatest at a = √(z/c), where it is (√c − √z)²/(c − 1) for |s| ≤ ε. The
// maximum is convex in z, and is thus the curve of a pair. It is this pair, whose losses exceed s
// with probability (√(c/z) − 1)/(c − 1) under Q, which is the negative slope of the curve.
type BoundedRange struct {
	Epsilon float64 // between 2^-40 and MaxPureEpsilon
}

// Validate returns a *units.RangeError if epsilon is out of range.
func (b BoundedRange) Validate() error { return inRange("epsilon", b.Epsilon, 0x1p-40, MaxPureEpsilon) }

func (b BoundedRange) symmetric() bool { return true }

func (b BoundedRange) extent(Direction, float64) extent {
	return extent{low: -b.Epsilon, high: b.Epsilon, spread: b.Epsilon / 2}
}

func (b BoundedRange) fill(_ Direction, c *cells) error {
	c.maxAdditions = 8
	c.addRising(b.Epsilon, 2/-math.Expm1(-b.Epsilon)*(1+elementaryError*(4+b.Epsilon)))
	return nil
}
