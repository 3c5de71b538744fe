package filter

import (
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// Unified is the filter for Brownian noise reduction beside approximate zCDP (Rogers
// et al. 2023, the unified filter): a mechanism that gave ever more precise answers
// and was stopped at one of them is charged the zCDP of that one. Not safe for
// concurrent use.
//
// Reserve the ρ of the last rung before the first one is released, stop when the
// released answers say so, then Settle with the ρ of the rung that was reached, or with the zero
// loss if none was released. A
// rung whose noise has variance T costs ρ = D²/(2T) at sensitivity D. Any number of
// mechanisms may be open at once; Spend takes those whose loss is known before.
//
// The promise is that of ApproxZCDP with the same budgets: δ-approximate ρ-zCDP,
// thus (ε, δ + δ')-DP for every δ' > 0 and ε = ρ + 2·√(ρ·ln 1/δ'). It is true because
// rung k of a Brownian mechanism is one more Gaussian release, of ρ_k − ρ_{k−1} and
// independent noise; the increments add up to the last rung, and a stop that reads
// answers is ordinary adaptivity.
//
// It is not true for noise reduction with Laplace noise, whose bound is ex-post
// (see ExPost), nor for fresh noise at every rung, which costs the sum of all rungs,
// nor for a stop that reads the data.
type Unified struct {
	reserverOfSums[loss.ZCDP, unified]
}

type unified struct{ ofZCDP }

func (unified) name() stored.Kind { return "filter.Unified" }
func (unified) reserves() bool    { return true }

var _ Reserver[loss.ZCDP] = (*Unified)(nil)

// NewUnified returns a filter with the budgets of NewApproxZCDP. The error is a
// *units.RangeError.
func NewUnified(rho, delta float64) (*Unified, error) {
	return unifiedOf(NewApproxZCDP(rho, delta))
}

// NewUnifiedFor returns a filter with the budgets of NewApproxZCDPFor: everything
// accepted together is (ε, δ)-DP. The error is a *units.RangeError.
func NewUnifiedFor(budget loss.Approx, approximate float64) (*Unified, error) {
	return unifiedOf(NewApproxZCDPFor(budget, approximate))
}

// unifiedOf makes a filter with the budgets of another, if there is one.
func unifiedOf(z *ApproxZCDP, err error) (*Unified, error) {
	if err != nil {
		return nil, err
	}
	return newUnified(newFilter[loss.ZCDP](sums[loss.ZCDP, unified]{z.rule().Pair})), nil
}

// Fresh returns a filter of the same budget of which nothing is spent.
func (u *Unified) Fresh() Filter[loss.ZCDP] { return newUnified(u.fresh()) }

func newUnified(f filterOfSums[loss.ZCDP, unified]) *Unified {
	return &Unified{reserverOfSums[loss.ZCDP, unified]{f}}
}
