package pld

import (
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/state/units"
)

// Direction selects which of two neighbouring inputs the outputs are drawn from.
type Direction int

// The directions. A guarantee must hold in both; a symmetric pair is the same in both.
const (
	Remove Direction = iota // outputs drawn with the individual, compared with those without
	Add                     // outputs drawn without the individual, compared with those with
)

// Pair is a dominating pair (P, Q) of a mechanism: H_α(M(X)‖M(X')) ≤ H_α(P‖Q) for every α ≥ 0 and
// every X that has one individual more than X', and the same with both sides swapped (Zhu, Dong and
// Wang, 2022, Definition 7). It is one of Gaussian, Laplace, DiscreteGaussian, RandomizedResponse,
// BoundedRange and Approx or, for these on samples, Sampled, SubsampledGaussian and
// WithoutReplacement.
type Pair interface {
	// Validate returns a *units.RangeError that names the parameter that is out of range.
	Validate() error

	// symmetric reports whether both directions have the same distribution.
	symmetric() bool
	// extent returns the losses that a grid for the pair must cover. tail is the probability that
	// may be cut off above.
	extent(d Direction, tail float64) extent
	// fill adds the whole distribution to the cells.
	fill(d Direction, c *intervals) error
}

// extent is the range of a pair's losses, except for a negligible part, and their spread, about one
// standard deviation.
type extent struct{ low, high, spread float64 }

func (d Direction) validate() error {
	if d != Remove && d != Add {
		return &units.RangeError{Parameter: "direction", Value: float64(d), Range: "Remove (0) or Add (1)"}
	}
	return nil
}

func inRange(name string, v, least, most float64) error {
	return units.Require(v >= least && v <= most, name, v, fmt.Sprintf("between %v and %v", least, most))
}

// tailPoint returns a z with 1 − Φ(z) ≤ tail, from 1 − Φ(z) ≤ e^(−z²/2)/2.
func tailPoint(tail float64) float64 {
	return math.Sqrt(-2*math.Log(tail)) + 1e-9
}
