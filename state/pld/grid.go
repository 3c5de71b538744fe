package pld

import (
	"cmp"
	"math"

	"github.com/tollgate-dp/tollgate/state/units"
)

const (
	// MinInterval and MaxInterval are the limits of the distance between two losses in a grid.
	MinInterval = 0x1p-40
	MaxInterval = 1.0
	// MaxSize is the maximum number of points in a grid.
	MaxSize = 1 << 26
)

// Grid is a set of losses: k·Interval for Lowest ≤ k < Lowest + Size, in nats.
type Grid struct {
	Interval float64 // a power of two between MinInterval and MaxInterval, so that every loss is exact
	Lowest   int     // index of the first loss; its absolute value is at most 2^50
	Size     int     // between 2 and MaxSize
}

// maxIndex is the maximum absolute value of an index, so that its conversion to float64 is exact.
const maxIndex = 1 << 50

// Validate returns a *units.RangeError if interval, lowest or size is out of range.
func (g Grid) Validate() error {
	fraction, _ := math.Frexp(g.Interval)
	return cmp.Or(
		units.Require(fraction == 0.5 && g.Interval >= MinInterval && g.Interval <= MaxInterval, "interval", g.Interval,
			"a power of two between 2^-40 and 1"),
		units.Require(g.Lowest >= -maxIndex && g.Lowest <= maxIndex, "lowest", float64(g.Lowest),
			"between -2^50 and 2^50"),
		units.Require(g.Size >= 2 && g.Size <= MaxSize, "size", float64(g.Size), "between 2 and 2^26"),
	)
}

// Loss returns the loss at position i of a Vector on the grid.
func (g Grid) Loss(i int) float64 { return float64(g.Lowest+i) * g.Interval }

// Vector is a privacy loss distribution on a grid. It dominates the pair from which it was
// computed, rounding errors included. For every ε,
//
//	δ(ε) ≤ Infinity + Σ_i max(0, 1 − e^(ε−Loss(i)))·Probabilities[i]
//
// where the right side is exact for the stored numbers. The same is true for compositions, with
// convolved probabilities and with 1 − Π(1 − Infinity) in place of Infinity. The sum of the
// probabilities may slightly exceed 1.
type Vector struct {
	Grid
	Probabilities []float64
	Infinity      float64 // probability of an unbounded loss
	Truncated     float64 // part of Infinity whose true loss is finite but above the grid
}

// Discretize returns a pair's distribution on a grid. Losses below the grid are moved up to its
// lowest loss, and losses above it count as unbounded. The error is a *units.RangeError for an
// invalid pair, direction or grid.
func Discretize(p Pair, d Direction, g Grid) (Vector, error) {
	if err := cmp.Or(p.Validate(), d.validate(), g.Validate()); err != nil {
		return Vector{}, err
	}
	c := newCells(g.Interval, g.Lowest, g.Size)
	if err := p.fill(d, c); err != nil {
		return Vector{}, err
	}
	c.settle()
	return Vector{Grid: g, Probabilities: c.mass, Infinity: c.infinityMass, Truncated: c.cut}, nil
}

// Symmetric reports whether both directions of a pair have the same distribution.
func Symmetric(p Pair) bool { return p.symmetric() }

// Spread returns about the standard deviation of a pair's loss, in the direction with the smaller
// deviation: 1/σ for Gaussian noise, about q/σ on a Poisson sample, 0 if the loss is always 0. It
// is only for choosing a grid. The error is a *units.RangeError for an invalid pair.
func Spread(p Pair) (float64, error) {
	if err := p.Validate(); err != nil {
		return 0, err
	}
	return min(p.extent(Remove, defaultMinDelta).spread, p.extent(Add, defaultMinDelta).spread), nil
}

// Cover returns a grid with the given interval for a pair. It cuts off a probability of at most
// about tail at the top, and less at the bottom. The error is a *units.RangeError (tail must be at
// least 1e-300 and below 1) or, if the grid would exceed MaxSize, a *SizeError.
func Cover(p Pair, d Direction, interval, tail float64) (Grid, error) {
	if err := cmp.Or(p.Validate(), d.validate(),
		units.Require(tail >= 1e-300 && tail < 1, "tail", tail, "at least 1e-300 and below 1"),
		Grid{Interval: interval, Size: 2}.Validate()); err != nil {
		return Grid{}, err
	}
	return p.extent(d, tail).grid(interval, MaxSize)
}

func (e extent) grid(interval float64, limit int) (Grid, error) {
	low, high := math.Floor(e.low/interval), math.Ceil(e.high/interval)
	points := high - low + 2 // with a spare point because losses are rounded up
	if !(points <= float64(limit)) || !(math.Abs(low) < maxIndex) || !(math.Abs(high) < maxIndex) {
		return Grid{}, &SizeError{Points: points, Limit: limit, Interval: interval}
	}
	return Grid{Interval: interval, Lowest: int(low), Size: max(2, int(points))}, nil
}
