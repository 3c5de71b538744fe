package pld

import (
	"cmp"
	"math"

	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// MaxPureEpsilon is the maximum ε of RandomizedResponse, Approx and BoundedRange.
const MaxPureEpsilon = 1024

// Approx is the pair that dominates every (ε, δ)-differentially private mechanism. The loss is
// unbounded with probability δ, and otherwise ±ε as in randomised response (Kairouz, Oh and
// Viswanath, 2015, Section 3; Murtagh and Vadhan, 2016).
type Approx loss.Approx

// Validate returns a *units.RangeError unless epsilon is from 0 to MaxPureEpsilon and delta at
// least 0 and below 1.
func (a Approx) Validate() error {
	return cmp.Or(loss.Approx(a).Validate(), inRange("epsilon", a.Epsilon, 0, MaxPureEpsilon))
}

func (a Approx) symmetric() bool { return true }

func (a Approx) extent(Direction, float64) extent {
	return extent{low: -a.Epsilon, high: a.Epsilon, spread: a.Epsilon}
}

func (a Approx) fill(_ Direction, c *cells) error {
	c.maxAdditions = 4
	less := math.Exp(-a.Epsilon)
	rest := (1 - a.Delta) * (1 + elementaryError) / (1 + less)
	c.infinityMass += a.Delta
	c.addAtom(a.Epsilon, rest)
	c.addAtom(-a.Epsilon, rest*less*(1+elementaryError))
	return nil
}

// RandomizedResponse is the pair of k-ary randomised response, for an individual whose value
// changes. The output is the true value with probability e^ε/(e^ε + k − 1), and otherwise one of
// the k − 1 other values, chosen uniformly.
type RandomizedResponse struct {
	Epsilon float64 // 0 to MaxPureEpsilon
	Values  int     // k, from 2 to 2^30
}

// Validate returns a *units.RangeError if epsilon or values is out of range.
func (r RandomizedResponse) Validate() error {
	return cmp.Or(
		units.Require(r.Values >= 2 && r.Values <= 1<<30, "values", float64(r.Values), "an integer from 2 to 2^30"),
		inRange("epsilon", r.Epsilon, 0, MaxPureEpsilon),
	)
}

func (r RandomizedResponse) symmetric() bool { return true }

func (r RandomizedResponse) extent(Direction, float64) extent {
	return extent{low: -r.Epsilon, high: r.Epsilon, spread: r.Epsilon}
}

func (r RandomizedResponse) fill(_ Direction, c *cells) error {
	c.maxAdditions = 6
	less := math.Exp(-r.Epsilon)
	truth := (1 + elementaryError) / (1 + float64(r.Values-1)*less)
	c.addAtom(r.Epsilon, truth)
	c.addAtom(-r.Epsilon, truth*less*(1+elementaryError))
	c.addAtom(0, truth*less*float64(r.Values-2)*(1+elementaryError))
	return nil
}
