package bucket

import (
	"cmp"
	"fmt"
	"math"
	"sort"

	"github.com/tollgate-dp/tollgate/state/pld"
	"github.com/tollgate-dp/tollgate/state/units"
)

// MaxSteps is the maximum number of noise levels in a Ladder.
const MaxSteps = 1 << 12

// Ladder is an increasing list of noise levels σ̃ = σ/contribution, the grid Σ of Koskela, Tobaben
// and Honkela, Appendix D.2. A noise level between two levels of the ladder is rounded down, which
// never understates the loss (data processing; Theorem D.2). A Ladder is immutable.
type Ladder struct{ sigmas []float64 }

// NewGeometricLadder returns a ladder whose levels have equal ratios, from lowest to highest, both
// included. The maximum relative error of rounding down is thus the same everywhere. It requires 0
// < lowest < highest < ∞, and 2 to MaxSteps levels that all differ.
func NewGeometricLadder(lowest, highest float64, levels int) (Ladder, error) {
	if err := cmp.Or(
		units.Require(lowest > 0 && lowest <= math.MaxFloat64, "lowest sigma", lowest, "above 0 and finite"),
		units.Require(highest > lowest && highest <= math.MaxFloat64 && highest/lowest <= math.MaxFloat64,
			"highest sigma", highest, "above the lowest and finite"),
		units.Require(levels >= 2 && levels <= MaxSteps, "levels", float64(levels), "between 2 and 4096"),
	); err != nil {
		return Ladder{}, err
	}
	l := Ladder{sigmas: make([]float64, levels)}
	for i := range l.sigmas {
		l.sigmas[i] = lowest * math.Exp(float64(i)/float64(levels-1)*math.Log(highest/lowest))
	}
	l.sigmas[0], l.sigmas[levels-1] = lowest, highest
	for i := 1; i < levels; i++ {
		if !(l.sigmas[i] > l.sigmas[i-1]) {
			return Ladder{}, &units.RangeError{Parameter: "levels", Value: float64(levels),
				Range: "few enough for all levels to differ"}
		}
	}
	return l, nil
}

// Len returns the number of levels.
func (l Ladder) Len() int { return len(l.sigmas) }

// Sigma returns level i, 0 ≤ i < Len.
func (l Ladder) Sigma(i int) float64 { return l.sigmas[i] }

// Bucket returns the index of the highest level that is at most sigma. For +Inf it is the index of
// the highest level. If sigma is below the lowest level, the error is a *units.RangeError.
func (l Ladder) Bucket(sigma float64) (int, error) {
	i := sort.Search(len(l.sigmas), func(i int) bool { return !(l.sigmas[i] <= sigma) }) - 1
	if i < 0 {
		lowest := math.NaN()
		if len(l.sigmas) > 0 {
			lowest = l.sigmas[0]
		}
		return 0, &units.RangeError{Parameter: "sigma", Value: sigma,
			Range: fmt.Sprintf("at least the lowest level of the ladder, %v", lowest)}
	}
	return i, nil
}

// Pairs returns the dominating pair of each level: the Gaussian mechanism if sampling is 1, and
// otherwise the Gaussian mechanism with Poisson sampling at that probability (Appendix D.3).
func (l Ladder) Pairs(sampling float64) ([]pld.Pair, error) {
	if !(sampling > 0 && sampling <= 1) {
		return nil, &units.RangeError{Parameter: "sampling", Value: sampling, Range: "above 0 and at most 1"}
	}
	pairs := make([]pld.Pair, len(l.sigmas))
	for i, sigma := range l.sigmas {
		if sampling == 1 {
			pairs[i] = pld.Gaussian{Sigma: sigma}
			continue
		}
		pairs[i] = pld.SubsampledGaussian{Sigma: sigma, Sampling: sampling}
	}
	return pairs, nil
}
