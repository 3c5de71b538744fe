package pld

import (
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/state/units"
)

// Direction selects one of two neighbouring inputs as that from which outputs are drawn.
type Direction int

// The directions. A guarantee must hold in both. A symmetric pair is the same in both.
const (
	Remove Direction = iota // outputs are drawn with the individual and compared with outputs without
	Add                     // outputs are drawn without the individual and compared with outputs with
)

// Pair is a dominating pair (P, Q) of a mechanism: H_α(M(X)‖M(X')) ≤ H_α(P‖Q) for every α ≥ 0 and
// every X that has one individual more than X', and likewise with both sides swapped (Zhu, Dong and
// Wang, 2022, Definition 7). It is one of Gaussian, Laplace, DiscreteGaussian, RandomizedResponse,
// BoundedRange and Approx or, on samples, Sampled, SubsampledGaussian and WithoutReplacement.
type Pair interface {
	// Validate returns a *units.RangeError if a parameter is out of range.
	Validate() error

	// symmetric reports whether both directions have the same distribution.
	symmetric() bool
	// extent returns the range of losses that a grid for the pair must cover. tail is the
	// probability that may be cut off at the top.
	extent(d Direction, tail float64) extent
	// fill adds the pair's complete distribution to c.
	fill(d Direction, c *cells) error
}

// extent is the range of a pair's losses, without a negligible part, and their spread, which is
// about one standard deviation.
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

// tailPoint returns a z with 1 − Φ(z) ≤ tail. It uses 1 − Φ(z) ≤ e^(−z²/2)/2.
func tailPoint(tail float64) float64 { return math.Sqrt(-2*math.Log(tail)) + 1e-9 }
