package filter

import (
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// Basic is the filter of basic composition: ε and δ add (Rogers et al. 2016,
// Theorem 3.3). Everything accepted together is (ε, δ)-DP with the ε and δ of the
// budget. Not safe for concurrent use.
//
// It does not promise that the realised privacy loss stays within ε but for a
// probability of δ, as the paper's Definition 3.2 has it. That holds for pure
// mechanisms, and for randomised response, of which every (ε_i, δ_i)-DP mechanism is
// a post-processing (Kairouz, Oh and Viswanath 2015; Theorem 2.7 of the paper): the
// (ε, δ)-DP of the whole survives post-processing, a bound on the loss of each
// outcome does not. The Gaussian mechanism, for one, violates it alone.
type Basic struct {
	filterOfSums[loss.Approx, basic]
}

type basic struct{ ofApprox }

func (basic) name() stored.Kind { return "filter.Basic" }

var _ Filter[loss.Approx] = (*Basic)(nil)

// NewBasic returns a Basic filter: 2^-80 ≤ ε < 2^48, δ is 0 for pure differential
// privacy or 2^-80 ≤ δ < 1. The error is a *units.RangeError.
func NewBasic(budget loss.Approx) (*Basic, error) {
	pair, err := newPair("epsilon", budget.Epsilon, budget.Delta)
	if err != nil {
		return nil, err
	}
	return &Basic{newFilter[loss.Approx](sums[loss.Approx, basic]{pair})}, nil
}

// Fresh returns a filter of the same budget of which nothing is spent.
func (b *Basic) Fresh() Filter[loss.Approx] { return &Basic{b.fresh()} }
