package accounting

import (
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// NewBasic returns the filter of basic composition: ε and δ add (Rogers et al. 2016, Theorem 3.3).
// Everything accepted together is (ε, δ)-DP with the budget's ε, 2^-80 ≤ ε < 2^48, and δ, 0 for
// pure differential privacy or 2^-80 ≤ δ < 1. The error is a *units.RangeError.
//
// The filter does not promise that the realised loss stays within ε except with probability δ, as
// in the paper's Definition 3.2. Pure mechanisms and randomised response have this property. Every
// (ε_i, δ_i)-DP mechanism is a post-processing of randomised response (Kairouz, Oh and Viswanath
// 2015), but only (ε, δ)-DP survives post-processing: a bound on the loss of each outcome does not.
// Even a single Gaussian mechanism lacks the property.
func NewBasic(budget loss.Approx) (*Filter[loss.Approx], error) {
	limits, err := limits("epsilon", budget.Epsilon, budget.Delta)
	if err != nil {
		return nil, err
	}
	return newFilter("basic", approxSums, limits), nil
}

// NewExPost returns the filter for mechanisms whose bound on privacy loss depends on their output
// (Rogers et al. 2023, Lemma 5.2). Realised bounds add up, and no mechanism may be able to exceed
// the rest of the budget. Budgets and errors are as for NewBasic. δ is 0 for bounds that always
// hold, such as the bound for Laplace noise reduction.
//
// A mechanism with outcome y is ex-post private with E(y) and δ if its privacy loss exceeds E(y)
// with probability at most δ, whatever was released before (Definition 4.1). Before the mechanism
// runs, reserve the largest value that E can take. If there is no largest value, or it does not
// fit, the mechanism must not run. After it has stopped, call Settle with E for its outcome.
//
// Everything reserved or spent together is (ε, δ)-DP with the budget's ε and δ: except on an event
// of probability Σ δ_i, the loss of the entire transcript is at most Σ E_i(y_i) ≤ ε, in both
// directions. Reservations may overlap if each bound holds for every stopping rule, because other
// releases in between are then just another reason to stop.
//
// The bound must be about the published outcomes themselves: unlike differential privacy, ex-post
// privacy is not preserved under post-processing (Remark 1). The realised bound is a function of
// the outcomes, so it is no more secret than the outcomes.
//
// Spend charges a loss in full. Call Spend before running a mechanism whose bound does not depend
// on its outcome. If nothing else is open, Spend can also charge the realised bound of a mechanism
// that ran because Fits had accepted its worst case.
func NewExPost(budget loss.Approx) (*Reserver[loss.Approx], error) {
	limits, err := limits("epsilon", budget.Epsilon, budget.Delta)
	if err != nil {
		return nil, err
	}
	return &Reserver[loss.Approx]{*newFilter("ex-post", approxSums, limits)}, nil
}

// Mixed combines a filter for zCDP mechanisms with a filter for ex-post private mechanisms (Rogers
// et al. 2023, Theorem 3). At each step, a mechanism of either kind may be chosen, and bounded, on
// the basis of everything released before. It is checked against the budget of its kind.
//
// With budget (ε, δ) for the zCDP part and (ε', δ') for the ex-post part, everything accepted
// together is (ε + ε', δ + δ')-DP: each part is private against any analyst, and concurrent
// composition lets the analyst use the results of one part to query the other. If one part is
// exhausted, the other continues. Nothing moves between the budgets: zCDP mechanisms cannot use an
// ε that an ex-post mechanism saved by stopping early. Each part is stored separately.
type Mixed struct {
	Concentrated *Filter[loss.ZCDP]
	ExPost       *Reserver[loss.Approx]
	Promise      loss.Approx // promise of both parts together, rounded up
}

// NewMixed returns a Mixed filter with the budgets of NewApproxZCDPFor(concentrated, approximate)
// and NewExPost(exPost). The error is a *units.RangeError.
func NewMixed(concentrated loss.Approx, approximate float64, exPost loss.Approx) (*Mixed, error) {
	z, err := NewApproxZCDPFor(concentrated, approximate)
	if err != nil {
		return nil, err
	}
	e, err := NewExPost(exPost)
	if err != nil {
		return nil, err
	}
	promise := loss.Approx{
		Epsilon: rounding.SumUp(concentrated.Epsilon, exPost.Epsilon),
		Delta:   rounding.SumUp(concentrated.Delta, exPost.Delta),
	}
	if err := promise.Validate(); err != nil {
		return nil, fmt.Errorf("adding up the promises of both parts: %w", err)
	}
	return &Mixed{z, e, promise}, nil
}

// NewBasicOdometer returns an odometer that adds up ε and δ (Rogers et al. 2016, Theorem 3.3).
// While Σδ is at most delta, the realised loss is between −Σε and Σε, except with probability
// delta, 0 ≤ delta < 1. After that, the bound's Epsilon is +Inf. The error is a *units.RangeError.
//
// Each recorded loss (ε, δ) must hold pointwise: except with probability δ, under either of the
// two inputs, the mechanism's realised loss given everything before is within ±ε. Every (ε,
// 0)-private mechanism has this property. An (ε, δ)-private mechanism may lack it: see PointWise.
//
// δ must be fixed before the mechanism runs, but ε may become known only afterwards. You may thus
// record the bound that a Mixture gives for a stopped Brownian mechanism, or any other ex-post
// loss. The sum is then an upper bound in the sense of Rogers et al. 2023, Lemma 5.1.
func NewBasicOdometer(delta float64) (*Odometer[loss.Approx, loss.Approx], error) {
	if err := (loss.Approx{Delta: delta}).Validate(); err != nil {
		return nil, fmt.Errorf("making a basic odometer: %w", err)
	}
	limit := fixed.Down(delta)
	return newOdometer("basic odometer", approxSums, 2, func(recorded []fixed.Amount) loss.Approx {
		if recorded[1].Cmp(limit) > 0 {
			return loss.Approx{Epsilon: math.Inf(1), Delta: delta}
		}
		return loss.Approx{Epsilon: up.float(recorded[0]), Delta: delta}
	}, delta), nil
}
