package mechanisms

import (
	"slices"

	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Exponential selects one of several candidates by their scores. It is the exponential mechanism of
// McSherry and Talwar ("Mechanism Design via Differential Privacy", 2007), which selects candidate
// i with probability proportional to e^(score_i/b). Sampling is exact: a candidate that was drawn
// uniformly is accepted with probability e^((score − greatest score)/b), by comparing digits
// (Canonne, Kamath and Steinke, 2020, Algorithm 1). A float64 weight, as in an ordinary softmax,
// would be 0 for some candidates on one input and not on another (Ilvento, "Implementing the
// Exponential Mechanism with Base-2 Differential Privacy", 2020).
//
// # The swing
//
// Prices are stated per swing. One individual may change the score of each candidate by a different
// amount. The swing is the largest of these changes minus the smallest. It is 2·Δ if scores change
// by at most Δ in either direction. It is Δ if all of them change in the same direction, like
// counts of users when one user joins (Durfee and Rogers, 2019, call such scores monotone). Because
// p_i is e^(score_i/b) over a sum that is the same for all candidates, losses lie in an interval of
// length swing/b: bounded range.
//
// An Exponential is safe for concurrent use with a Source for each goroutine. On average, a
// selection takes at most as many tries as there are candidates. The number of tries depends on the
// scores, so an observer who can time a selection learns something about them.
type Exponential struct{ rate }

// PermuteAndFlip selects one of several candidates by their scores. It is the mechanism of McKenna
// and Sheldon ("Permute-and-Flip: A New Mechanism for Differentially Private Selection", 2020),
// whose expected score is never below that of Exponential at the same ε. It tries each candidate
// once, in random order, and accepts it with probability e^((score − greatest score)/b). Sampling
// is exact, as in Exponential.
//
// Its selections have the same distribution as the greatest score after exponential noise of scale
// b is added to each score (Ding, Kifer, Sayed, Steinke, Wang, Xiao and Zhang, "The
// Permute-and-Flip Mechanism is Identical to Report-Noisy-Max with Exponential Noise", 2021). The
// price for a swing (see Exponential) follows. A constant added to all scores changes nothing, so
// assume that changes lie between 0 and the swing. Given the noise of the other candidates, the
// noise that a candidate needs to win moves by at most the swing, and P(noise > x + swing) ≥
// e^(−swing/b)·P(noise > x). The mechanism has no bounded range beyond that of any ε-DP mechanism:
// when many selections are composed, Exponential costs a quarter of the ρ.
//
// It is safe for concurrent use with a Source for each goroutine. For timing, see Exponential.
type PermuteAndFlip struct{ rate }

// NewExponential returns the mechanism with scale b, between 2^-23 and 2^40. The scale is rounded
// up by a relative error of less than 2^-40. The error is a *units.RangeError.
func NewExponential(scale float64) (*Exponential, error) {
	r, err := newRate(scale)
	if err != nil {
		return nil, err
	}
	return &Exponential{r}, nil
}

// NewPermuteAndFlip returns the mechanism with scale b. For limits and errors, see NewExponential.
func NewPermuteAndFlip(scale float64) (*PermuteAndFlip, error) {
	r, err := newRate(scale)
	if err != nil {
		return nil, err
	}
	return &PermuteAndFlip{r}, nil
}

// Select returns the index of a candidate. The candidates and their number must not depend on
// private data. Every int64 is a valid score. The error is a *units.RangeError if there are no
// candidates.
func (e *Exponential) Select(scores []int64, src Source) (int, error) {
	if err := checkCandidates(scores); err != nil {
		return 0, err
	}
	greatest, n := slices.Max(scores), uint64(len(scores))
	for {
		if i := uniform(n, src); e.accepts(scores[i], greatest, src) {
			return int(i), nil
		}
	}
}

// Select returns the index of a candidate, with the requirements and errors of Exponential.Select.
func (p *PermuteAndFlip) Select(scores []int64, src Source) (int, error) {
	if err := checkCandidates(scores); err != nil {
		return 0, err
	}
	greatest := slices.Max(scores)
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	for k := 0; ; k++ { // ends at a greatest score at the latest, which is always accepted
		j := k + int(uniform(uint64(len(order)-k), src))
		order[k], order[j] = order[j], order[k]
		if p.accepts(scores[order[k]], greatest, src) {
			return order[k], nil
		}
	}
}

// ZCDP returns the price of a selection for an individual with the given swing. The selection has
// (swing/b)-bounded range, so it costs at most (swing/b)²/8 (see conversion.BoundedRangeToZCDP).
func (e *Exponential) ZCDP(swing float64) (loss.ZCDP, error) {
	pure, err := e.Approx(swing)
	if err != nil {
		return loss.ZCDP{}, err
	}
	return conversion.BoundedRangeToZCDP(pure.Epsilon)
}

// GDP returns the price of a selection for an individual with the given swing. It is the least μ
// that (swing/b)-bounded range allows (see conversion.BoundedRangeToGDP). It takes a millisecond.
func (e *Exponential) GDP(swing float64) (loss.GDP, error) {
	pure, err := e.Approx(swing)
	if err != nil {
		return loss.GDP{}, err
	}
	return conversion.BoundedRangeToGDP(pure.Epsilon)
}

// ZCDP returns the price of any ε-differentially private mechanism (see conversion.PureToZCDP).
func (p *PermuteAndFlip) ZCDP(swing float64) (loss.ZCDP, error) {
	pure, err := p.Approx(swing)
	if err != nil {
		return loss.ZCDP{}, err
	}
	return conversion.PureToZCDP(pure.Epsilon)
}

// rate is the scale b of random decisions that succeed with probability e^(−gap/b), for integer
// gaps. The scale is in spacings of a lattice that contains the integers.
type rate struct {
	lattice lattice
	scale   uint64 // in spacings, 2^40 to 2^41
}

func newRate(scale float64) (rate, error) {
	l, err := NewLaplace(scale)
	if err != nil {
		return rate{}, err
	}
	return rate(*l), nil
}

// Approx returns the price of a selection for an individual with the given swing, between 0 and
// 2^900: (swing/b, 0), rounded up. The error is a *units.RangeError.
func (r rate) Approx(swing float64) (loss.Approx, error) {
	if !(swing >= 0 && swing <= greatestValue) {
		return loss.Approx{}, &units.RangeError{Parameter: "swing", Value: swing, Range: "between 0 and 2^900"}
	}
	return pureOf(r.lattice, r.scale, swing)
}

// accepts returns true with probability e^((score − greatest)/b). The difference of two int64
// values fits in a uint64, which computes it modulo 2^64.
func (r rate) accepts(score, greatest int64, src Source) bool {
	return expMinusProduct(uint64(greatest)-uint64(score), 1<<r.lattice.exponent, r.scale, src)
}

func checkCandidates(scores []int64) error {
	if len(scores) == 0 {
		return &units.RangeError{Parameter: "number of candidates", Value: 0, Range: "at least 1"}
	}
	return nil
}
