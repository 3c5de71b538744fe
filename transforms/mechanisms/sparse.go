package mechanisms

import (
	"errors"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ErrPositives is returned by a Search that has found as many values above its threshold as
// it was to find. Begin another one, which is paid for on its own.
var ErrPositives = errors.New(
	"comparing a value with a noisy threshold: the search has found all that it may; begin another one")

const (
	// sparsePoints makes the lesser scale 2^28 to 2^29 spacings, or integers.
	sparsePoints = 28
	// sparseWidest is the greatest ratio of the two scales: neither is above 2^39 spacings,
	// and noise stays below 2^39·mostBlocks = 2^51 of them.
	sparseWidest = 0x1p10
	// mostPositives keeps the number of positives exact in a float64.
	mostPositives = 1 << 30
)

// SparseVector reports which values of a stream are above a threshold, and pays only for these: the
// sparse vector technique (Dwork, Naor, Reingold, Rothblum and Vadhan, 2009; AboveThreshold in
// Dwork and Roth, 2014, Algorithm 1, with one positive), in the corrected form of Lyu, Su and Li
// ("Understanding the Sparse Vector Technique for Differential Privacy", 2017, Algorithm 7 without
// numeric answers). Several published forms are not private at all: Section 3 there, and this
// package's tests.
//
// # Privacy
//
// A search has discrete Laplace noise of scale b₁ on the threshold, drawn once, and fresh noise of
// scale b₂ on every value. Let values, each chosen from earlier outputs, differ by at most Δ
// between two neighbouring inputs, and let a search have found k positives. Given the threshold's
// noise r, the probability of the outputs is a product; with r moved up by Δ, every output "below"
// is at least as likely on the second input, and every "above" at least e^(−2Δ/b₂) times as likely,
// as its noise has to move by 2Δ at most. The sum over r gives, for the second input, at least
// e^(−Δ/b₁ − 2kΔ/b₂) times the probability on the first (Lyu et al., Theorem 4). This holds for
// every transcript: a search is ex-post private with ε = Δ/b₁ + 2kΔ/b₂ for the k it found, for
// every rule that stops and chooses values from the outputs, and ε-DP with the largest k it may
// find.
//
// If all values change in the same direction, as counts of users do when one joins, noise on values
// has to move by Δ at most: ε = Δ/b₁ + kΔ/b₂ (Theorem 5 there), returned by the methods with
// Monotone in their names. For a given ε and c positives at most, the variance of a comparison,
// 2b₁² + 2b₂², is least at b₂/b₁ = (2c)^(1/3), monotone c^(1/3) (Sections 4.2 and 4.3 there, as a
// ratio of the two parts of ε).
//
// Nothing numeric is released: to publish a value above the threshold, use another mechanism with
// fresh noise and pay for it. ρ follows from ε by conversion.PureToZCDP. Safe for concurrent use.
type SparseVector struct {
	lattice          lattice
	threshold, value uint64 // scales in spacings, at most 2^39
	positives        int
}

// NewSparseVector returns the mechanism whose searches have noise of scale threshold on
// the threshold, b₁, and of scale value on each value, b₂, and end after a number of
// positives, from 1 to 2^30. Scales are from 2^-23 to 2^30, neither more than 2^10 times the
// other, and rounded up by less than a relative 2^-28. The error is a *units.RangeError.
func NewSparseVector(threshold, value float64, positives int) (*SparseVector, error) {
	if err := checkScale("scale of the threshold's noise", threshold, greatestCoarse); err != nil {
		return nil, err
	}
	if err := checkScale("scale of the values' noise", value, greatestCoarse); err != nil {
		return nil, err
	}
	lesser, greater := min(threshold, value), max(threshold, value)
	if greater > lesser*sparseWidest {
		return nil, &units.RangeError{
			Parameter: "scale of the values' noise", Value: value,
			Range: "between 2^-10 and 2^10 times the scale of the threshold's noise",
		}
	}
	if positives < 1 || positives > mostPositives {
		return nil, &units.RangeError{Parameter: "positives", Value: float64(positives), Range: "between 1 and 2^30"}
	}
	s := &SparseVector{lattice: latticeFor(lesser, sparsePoints), positives: positives}
	s.threshold, s.value = s.lattice.spacings(threshold), s.lattice.spacings(value)
	return s, nil
}

// Worst returns the price of a search that finds as many as it may, for an individual who changes
// every value by at most sensitivity. It must fit a budget before Begin.
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
	found := rounding.ProductUp(steps, moves*float64(k))
	return finite(sensitivity, rounding.SumUp(
		rounding.QuotientUp(steps, float64(s.threshold)), rounding.QuotientUp(found, float64(s.value))))
}

// Begin draws the threshold's noise. The threshold is public, or chosen from earlier releases. It
// returns a *units.RangeError for a threshold that is not finite or beyond 2^900, or ErrDigits.
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

// Search compares values with one noisy threshold. It contains that threshold's noise: keep
// it secret. Not safe for concurrent use.
type Search struct {
	mechanism *SparseVector
	threshold float64
	noise     int64
	found     int
}

// Above reports whether the value with noise of its own is at least the noisy threshold.
// The error is ErrPositives for a search that has ended, a *units.RangeError for a value
// that is not finite or beyond 2^900, or ErrDigits; nothing was released then.
func (c *Search) Above(value float64, src Source) (bool, error) {
	if c.found == c.mechanism.positives {
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
	// Both sides are exact when they decide: the noise sums to less than 2^52, and a difference of
	// integers is a float64 or at least 2^53.
	above := base-c.threshold >= float64(c.noise-noise)
	if above {
		c.found++
	}
	return above, nil
}

// Found returns how many values were above the threshold: each of them was paid for.
func (c *Search) Found() int { return c.found }

// Price returns the price of the search so far for an individual who changes every value by at most
// sensitivity: an ex-post bound, with which accounting.NewExPost settles a reservation of Worst.
// The threshold's noise is paid for at Begin.
func (c *Search) Price(sensitivity float64) (loss.Approx, error) {
	return c.mechanism.price(sensitivity, 2, c.found)
}

// PriceMonotone is Price for individuals who change all values in the same direction.
func (c *Search) PriceMonotone(sensitivity float64) (loss.Approx, error) {
	return c.mechanism.price(sensitivity, 1, c.found)
}
