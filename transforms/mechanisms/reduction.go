package mechanisms

import (
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

const (
	// greatestCoarsest is the greatest scale of a LaplaceReduction: a lattice
	// with at most 2^31 points per scale is to contain the integers.
	greatestCoarsest = 0x1p30
	// widest is the greatest ratio of the coarsest scale to the finest: 2^10
	// points are left to the finest.
	widest = 0x1p20
	// A scale is at most 63/64 of the one before: the effort of a step grows like
	// the inverse of the difference.
	shrinkNum, shrinkDen = 63, 64
)

// LaplaceReduction releases a number again and again, each time with less Laplace noise, and only
// the last release is paid for: noise reduction in the sense of Ligett, Neel, Roth, Waggoner and Wu
// ("Accuracy First", 2017), with the Markov coupling of Koufogiannis, Han and Pappas (2016) on a
// lattice, exactly (see refine).
//
// # Privacy
//
// Let the scales be t₁ > t₂ > … in spacings, each chosen from the releases before it. The
// transcript y₁ … y_k has, by the coupling read backwards, probability p_k(y_k − f)·Π w_i(y_i −
// y_{i+1}), where p_k is the discrete Laplace law of scale t_k, f the value and w_i the law of the
// removed noise. Only the first factor depends on f. Hence, wherever one stops, the likelihood
// ratio of all releases, for values c apart, is at most e^(c/t_k): ex-post private with ε = c/t_k,
// for every rule that stops and chooses scales from earlier releases (Rogers et al., 2023,
// Definitions 4.1 to 4.3). A ladder that is always refined to the finest scale is ε-differentially
// private with the ε of that scale.
//
// Safe for concurrent use.
type LaplaceReduction struct {
	lattice          lattice
	coarsest, finest uint64 // scales in spacings: 2^10 ≤ finest ≤ coarsest ≤ 2^31
}

// NewLaplaceReduction returns the mechanism whose first scale is at most coarsest
// and whose last is at least finest: 2^-23 ≤ finest ≤ coarsest ≤ 2^30 and coarsest
// ≤ 2^20·finest; the error is a *units.RangeError. Scales are rounded up to the
// lattice, whose spacing is some 2^-30 of the coarsest and at most 1.
func NewLaplaceReduction(coarsest, finest float64) (*LaplaceReduction, error) {
	if err := checkScale("coarsest scale", coarsest, greatestCoarsest); err != nil {
		return nil, err
	}
	if !(finest >= leastScale && finest <= coarsest && coarsest <= finest*widest) {
		return nil, &units.RangeError{
			Parameter: "finest scale", Value: finest,
			Range: "at least 2^-23 and between 2^-20 times the coarsest scale and the coarsest scale",
		}
	}
	m := &LaplaceReduction{lattice: latticeFor(coarsest, 30)}
	m.coarsest, m.finest = m.lattice.spacings(coarsest), m.lattice.spacings(finest)
	return m, nil
}

// Worst returns the price of a refinement to the finest scale, for an individual who changes the
// value by at most sensitivity. It must fit a budget before Begin.
func (m *LaplaceReduction) Worst(sensitivity float64) (loss.Approx, error) {
	return pureOf(m.lattice, m.finest, sensitivity)
}

// Begin starts a refinement for a value. Nothing is released yet. The error is a
// *units.RangeError for a value that is not finite or beyond 2^900.
func (m *LaplaceReduction) Begin(value float64) (*Refinement, error) {
	base, err := m.lattice.nearest(value)
	if err != nil {
		return nil, err
	}
	return &Refinement{mechanism: m, base: base}, nil
}

// Refinement is the release of one value with less and less noise. It contains the value:
// keep it as secret. Not safe for concurrent use.
type Refinement struct {
	mechanism *LaplaceReduction
	base      float64
	noise     int64
	scale     uint64 // 0 before the first release
}

// Next releases the value with noise of the given scale: the first time any from finest to
// coarsest, then any that is at most 63/64 of the one before. The scale may depend on earlier
// releases and on nothing else. It returns a *units.RangeError for another scale, or ErrDigits;
// then nothing was released and the refinement is unchanged.
func (c *Refinement) Next(scale float64, src Source) (float64, error) {
	t, err := c.admissible(scale)
	if err != nil {
		return 0, err
	}
	noise := int64(0)
	if c.scale == 0 {
		noise, err = twoSided(1, t, src)
	} else {
		noise, err = refine(c.noise, c.scale, t, src)
	}
	if err != nil {
		return 0, err
	}
	c.noise, c.scale = noise, t
	return c.mechanism.lattice.noisy(c.base, noise), nil
}

func (c *Refinement) admissible(scale float64) (uint64, error) {
	m := c.mechanism
	if scale >= leastScale && scale <= greatestCoarsest {
		t, most := m.lattice.spacings(scale), m.coarsest
		if c.scale != 0 {
			most = c.scale * shrinkNum / shrinkDen
		}
		if t >= m.finest && t <= most {
			return t, nil
		}
	}
	return 0, &units.RangeError{
		Parameter: "scale", Value: scale,
		Range: "between the finest and the coarsest scale, and at most 63/64 of the scale before",
	}
}

// Price returns the price of all releases so far for an individual who changes the value by at most
// sensitivity: the ε of the last scale, 0 before the first.
func (c *Refinement) Price(sensitivity float64) (loss.Approx, error) {
	if c.scale == 0 {
		_, err := c.mechanism.lattice.steps(sensitivity)
		return loss.Approx{}, err
	}
	return pureOf(c.mechanism.lattice, c.scale, sensitivity)
}
