package filter

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ApproxZCDP is the filter of approximate zCDP: ρ and δ add (Rogers et al. 2023,
// Theorem 2). Not safe for concurrent use.
//
// With a budget of ρ and δ, everything accepted together is (ε, δ + δ')-DP for
// every δ' > 0 and ε = ρ + 2·√(ρ·ln 1/δ'). It is also δ-approximate ρ-zCDP as a
// whole, so that tighter conversions may be used: on every path the kernels without
// their failures have ρ-zCDP by Feldman and Zrnic's Remark 4.4, and weigh at least
// Π(1 − δ_i) ≥ 1 − δ.
type ApproxZCDP struct {
	filterOfSums[loss.ZCDP, approxZCDP]
}

type approxZCDP struct{ ofZCDP }

func (approxZCDP) name() stored.Kind { return "filter.ApproxZCDP" }

var _ Filter[loss.ZCDP] = (*ApproxZCDP)(nil)

// NewApproxZCDP returns a filter of the budgets ρ, 2^-80 ≤ rho < 2^48, and δ, 0 or
// 2^-80 ≤ delta < 1. The error is a *units.RangeError.
func NewApproxZCDP(rho, delta float64) (*ApproxZCDP, error) {
	pair, err := newPair("rho", rho, delta)
	if err != nil {
		return nil, err
	}
	return &ApproxZCDP{newFilter[loss.ZCDP](sums[loss.ZCDP, approxZCDP]{pair})}, nil
}

// NewApproxZCDPFor returns the filter whose accepted mechanisms are (ε, δ)-DP
// together by Theorem 2: the δ of losses may add up to approximate, and ρ is that
// of ε = ρ + 2·√(ρ·ln 1/δ') at δ' = δ − approximate. ε and δ as for NewZCDP;
// approximate is 0 or at least 2^-80 and below δ. The error is a *units.RangeError.
func NewApproxZCDPFor(budget loss.Approx, approximate float64) (*ApproxZCDP, error) {
	if err := checkPromise(budget); err != nil {
		return nil, err
	}
	if !(approximate >= 0 && approximate < budget.Delta) {
		return nil, &units.RangeError{
			Parameter: "approximate", Value: approximate,
			Range: fmt.Sprintf("at least 0 and below delta (%v)", budget.Delta),
		}
	}
	left := -rounding.SumUp(approximate, -budget.Delta) // rounded down
	rest := loss.Approx{Epsilon: budget.Epsilon, Delta: left}
	rho, err := simpleRho(rest)
	if err != nil {
		return nil, fmt.Errorf("converting what approximate leaves of delta: %w", err)
	}
	losses, err := limitOf("rho", rho)
	if err != nil {
		return nil, fmt.Errorf("making an approximate zCDP filter for (%v, %v): %w", budget.Epsilon, budget.Delta, err)
	}
	deltas, err := failure("delta", approximate)
	if err != nil {
		return nil, fmt.Errorf("making an approximate zCDP filter for (%v, %v): %w", budget.Epsilon, budget.Delta, err)
	}
	pair := fixed.Pair{Loss: losses, Delta: deltas}
	return &ApproxZCDP{newFilter[loss.ZCDP](sums[loss.ZCDP, approxZCDP]{pair})}, nil
}

// Fresh returns a filter of the same budget of which nothing is spent.
func (z *ApproxZCDP) Fresh() Filter[loss.ZCDP] { return &ApproxZCDP{z.fresh()} }
