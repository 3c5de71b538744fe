package mechanisms

import (
	"errors"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ErrPositives is returned by a Search that has found its maximum number of values above the
// threshold. Begin another search, for which the price is paid again.
var ErrPositives = errors.New(
	"comparing a value with a noisy threshold: the search has found its maximum number of values; begin another one")

const (
	// sparsePoints ensures that the lesser scale is at least 2^28 spacings.
	sparsePoints = 28
	// maxScaleRatio is the maximum ratio of the two scales. It keeps both scales at or below 2^39
	// spacings, and noise below 2^39·maxBlocks = 2^51 spacings.
	maxScaleRatio = 0x1p10
	// maxPositives keeps the number of positives exact in a float64.
	maxPositives = 1 << 30
)

// SparseVector reports which values of a stream are above a threshold. Only these values are paid
// for. It is the sparse vector technique (Dwork, Naor, Reingold, Rothblum and Vadhan, 2009;
// AboveThreshold in Dwork and Roth, 2014, Algorithm 1, with one positive), in the corrected form of
// Lyu, Su and Li ("Understanding the Sparse Vector Technique for Differential Privacy", 2017,
// Algorithm 7 without numeric answers). Several published forms are not private at all: see their
// Section 3, and this package's tests.
//
// # Privacy
//
// A search adds discrete Laplace noise with scale b₁ to the threshold, once, and fresh noise with
// scale b₂ to every value. Let values, each chosen from earlier outputs, differ by at most Δ
// between two neighbouring inputs, and let a search have found k positives. Given the threshold's
// noise r, the probability of the outputs is a product. If r moves up by Δ, every output "below" is
// at least as likely on the second input. Every output "above" is at least e^(−2Δ/b₂) times as
// likely, because its noise has to move by 2Δ at most. The sum over r gives a probability on the
// second input of at least e^(−Δ/b₁ − 2kΔ/b₂) times that on the first (Lyu et al., Theorem 4). This
// holds for every transcript: a search that found k positives is ex-post private with ε = Δ/b₁ +
// 2kΔ/b₂, whatever rule stops it and chooses values from its outputs. It is ε-DP with the largest
// possible k.
//
// If all values change in the same direction, like counts of users when one user joins, the values'
// noise has to move by at most Δ. Then ε = Δ/b₁ + kΔ/b₂ (their Theorem 5), which the methods with
// Monotone in their names return. For a given ε and at most c positives, the variance of a
// comparison, 2b₁² + 2b₂², is least at b₂/b₁ = (2c)^(1/3), or c^(1/3) in the monotone case (their
// Sections 4.2 and 4.3, as a ratio of the two parts of ε).
//
// No numbers are released. To publish a value above the threshold, use another mechanism with fresh
// noise and pay for it. For ρ, convert ε with conversion.PureToZCDP. It is safe for concurrent use.
type SparseVector struct {
	lattice          lattice
	threshold, value uint64 // scales in spacings, at most 2^39
	positives        int
}

// NewSparseVector returns the mechanism. threshold is b₁, the scale of the noise on the threshold,
// and value is b₂, the scale of the noise on each value. A search ends after the given number of
// positives, from 1 to 2^30. Both scales must be from 2^-23 to 2^30, and neither more than 2^10
// times the other. They are rounded up by a relative error of less than 2^-28. The error is a
// *units.RangeError.
func NewSparseVector(threshold, value float64, positives int) (*SparseVector, error) {
	if err := checkScale("scale of the threshold's noise", threshold, greatestCoarse); err != nil {
		return nil, err
	}
	if err := checkScale("scale of the values' noise", value, greatestCoarse); err != nil {
		return nil, err
	}
	lesser, greater := min(threshold, value), max(threshold, value)
	if greater > lesser*maxScaleRatio {
		return nil, &units.RangeError{
			Parameter: "scale of the values' noise", Value: value,
			Range: "between 2^-10 and 2^10 times the scale of the threshold's noise",
		}
	}
	if positives < 1 || positives > maxPositives {
		return nil, &units.RangeError{Parameter: "positives", Value: float64(positives), Range: "between 1 and 2^30"}
	}
	s := &SparseVector{lattice: latticeFor(lesser, sparsePoints), positives: positives}
	s.threshold, s.value = s.lattice.spacings(threshold), s.lattice.spacings(value)
	return s, nil
}

// Worst returns the price of a search that finds its maximum number of positives, for an individual
// who changes every value by at most sensitivity. The budget must cover this price before Begin.
func (s *SparseVector) Worst(sensitivity float64) (loss.Approx, error) {
	return s.price(sensitivity, 2, s.positives)
}

// WorstMonotone is Worst for individuals who change all values in the same direction.
func (s *SparseVector) WorstMonotone(sensitivity float64) (loss.Approx, error) {
	return s.price(sensitivity, 1, s.positives)
}

// price returns Δ/b₁ + moves·k·Δ/b₂, rounded up.
func (s *SparseVector) price(sensitivity, moves float64, k int) (loss.Approx, error) {
	steps, err := s.lattice.steps(sensitivity)
	if err != nil {
		return loss.Approx{}, err
	}
	moved := rounding.ProductUp(steps, moves*float64(k))
	return finite(sensitivity, rounding.SumUp(
		rounding.QuotientUp(steps, float64(s.threshold)), rounding.QuotientUp(moved, float64(s.value))))
}

// Begin starts a search and draws the threshold's noise. The threshold must be public, or chosen
// from earlier releases. The error is a *units.RangeError for a threshold that is not finite or
// beyond 2^900, or ErrDigits.
func (s *SparseVector) Begin(threshold float64, src Source) (*Search, error) {
	base, err := s.lattice.nearest(threshold)
	if err != nil {
		return nil, err
	}
	noise, err := twoSided(s.threshold, src)
	if err != nil {
		return nil, err
	}
	return &Search{mechanism: s, threshold: base, noise: noise}, nil
}

// Search compares values with one noisy threshold. It contains that threshold's noise, so keep it
// secret. It is not safe for concurrent use.
type Search struct {
	mechanism *SparseVector
	threshold float64
	noise     int64
	positives int
}

// Above reports whether the value with fresh noise is at least the noisy threshold. The error is
// ErrPositives for a search that has ended, a *units.RangeError for a value that is not finite or
// beyond 2^900, or ErrDigits. With an error, nothing is released.
func (c *Search) Above(value float64, src Source) (bool, error) {
	if c.positives == c.mechanism.positives {
		return false, ErrPositives
	}
	base, err := c.mechanism.lattice.nearest(value)
	if err != nil {
		return false, err
	}
	noise, err := twoSided(c.mechanism.value, src)
	if err != nil {
		return false, err
	}
	// Rounding cannot change the result: the noise sums to less than 2^52, and a difference of
	// integers is exact below 2^53.
	above := base-c.threshold >= float64(c.noise-noise)
	if above {
		c.positives++
	}
	return above, nil
}

// Found returns the number of values above the threshold. Each of them was paid for.
func (c *Search) Found() int { return c.positives }

// Price returns the price of the search so far for an individual who changes every value by at most
// sensitivity. It is an ex-post bound: accounting.NewExPost settles a reservation of Worst with it.
// The price includes the threshold's noise as soon as Begin has returned.
func (c *Search) Price(sensitivity float64) (loss.Approx, error) {
	return c.mechanism.price(sensitivity, 2, c.positives)
}

// PriceMonotone is Price for individuals who change all values in the same direction.
func (c *Search) PriceMonotone(sensitivity float64) (loss.Approx, error) {
	return c.mechanism.price(sensitivity, 1, c.positives)
}
