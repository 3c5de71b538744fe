package filter

import (
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// ExPost is the filter for mechanisms whose bound on privacy loss depends on what
// they released (Rogers et al. 2023, Lemma 5.2): realised bounds add, and no
// mechanism may be able to exceed what is left. Not safe for concurrent use.
//
// A mechanism with outcome y is ex-post private with E(y) and δ if its privacy loss
// exceeds E(y) with probability at most δ, whatever was released before (Definition
// 4.1). Two calls make up one use of it:
//
//   - Reserve, before it runs, with the largest value that E can take. Without such a
//     value, or where it does not fit, the mechanism must not run.
//   - Settle, when it has stopped, with E of the outcome.
//
// Everything reserved or spent together is (ε, δ)-DP with the budget's ε and δ: but for
// an event of probability Σ δ_i the loss of the whole transcript is at most Σ E_i(y_i)
// ≤ ε, in both directions. Reservations may overlap where each bound is true for every rule of
// stopping: what else is released meanwhile is then one more reason to stop, and the
// loss of a transcript is the sum of theirs, outcome by outcome.
//
// The bound must be that of the outcomes themselves: unlike differential privacy,
// ex-post privacy is not kept by post-processing (Remark 1), so E of a rounded or
// derived value means nothing. The realised bound is a function of the outcomes and
// no more secret than they are.
//
// Spend charges a loss in full, without a reservation: for a mechanism whose bound does not depend
// on its outcome, before it runs, or, where nothing else is open, for the realised bound of a
// mechanism that ran because Fits had said yes to its worst case.
type ExPost struct {
	reserverOfSums[loss.Approx, exPost]
}

type exPost struct{ ofApprox }

func (exPost) name() stored.Kind { return "filter.ExPost" }
func (exPost) reserves() bool    { return true }

var _ Reserver[loss.Approx] = (*ExPost)(nil)

// NewExPost returns a filter for ex-post bounds that are always true (δ = 0), such as
// that of Laplace noise reduction: everything together is ε-DP. 2^-80 ≤ epsilon <
// 2^48; the error is a *units.RangeError.
func NewExPost(epsilon float64) (*ExPost, error) {
	return NewExPostApprox(loss.Approx{Epsilon: epsilon})
}

// NewExPostApprox returns a filter that also takes ex-post bounds with a δ, such as
// the boundaries of the Brownian mechanism. ε as for NewExPost, δ is 0 or 2^-80 ≤ δ
// < 1; the error is a *units.RangeError.
func NewExPostApprox(budget loss.Approx) (*ExPost, error) {
	pair, err := newPair("epsilon", budget.Epsilon, budget.Delta)
	if err != nil {
		return nil, err
	}
	return newExPost(newFilter[loss.Approx](sums[loss.Approx, exPost]{pair})), nil
}

// Fresh returns a filter of the same budget of which nothing is spent.
func (e *ExPost) Fresh() Filter[loss.Approx] { return newExPost(e.fresh()) }

func newExPost(f filterOfSums[loss.Approx, exPost]) *ExPost {
	return &ExPost{reserverOfSums[loss.Approx, exPost]{f}}
}
