package filter

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// Unified is the filter for Brownian noise reduction beside approximate zCDP (Rogers
// et al. 2023, the unified filter): a mechanism that gave ever more precise answers
// and was stopped at one of them is charged the zCDP of that one. Not safe for
// concurrent use.
//
// Reserve the ρ of the last rung before the first one is released, stop when the
// released answers say so, then Settle with the ρ of the rung that was reached. A
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
	unreadable
	sums pair
}

var _ Reserver[loss.ZCDP] = (*Unified)(nil)

// NewUnified returns a filter with the budgets of NewApproxZCDP. The error is a
// *units.RangeError.
func NewUnified(rho, delta float64) (*Unified, error) {
	z, err := NewApproxZCDP(rho, delta)
	if err != nil {
		return nil, err
	}
	return &Unified{sums: z.sums}, nil
}

// NewUnifiedFor returns a filter with the budgets of NewApproxZCDPFor: everything
// accepted together is (ε, δ)-DP. The error is a *units.RangeError.
func NewUnifiedFor(budget loss.Approx, approximate float64) (*Unified, error) {
	z, err := NewApproxZCDPFor(budget, approximate)
	if err != nil {
		return nil, err
	}
	return &Unified{sums: z.sums}, nil
}

// Fits reports whether l would be taken by Spend or Reserve.
func (u *Unified) Fits(l loss.ZCDP) bool {
	return l.Validate() == nil && u.sums.fits(l.Rho, l.Delta)
}

// Spend takes l, or returns ErrExceeded or a *units.RangeError.
func (u *Unified) Spend(l loss.ZCDP) error {
	if err := l.Validate(); err != nil {
		return err
	}
	return u.sums.spend(l.Rho, l.Delta)
}

// Reserve sets the ρ of the worst rung aside and spends its δ at once. The error is
// ErrExceeded or a *units.RangeError.
func (u *Unified) Reserve(worst loss.ZCDP) error {
	if err := worst.Validate(); err != nil {
		return err
	}
	return u.sums.reserve(worst.Rho, worst.Delta)
}

// Settle ends a reservation of worst: the ρ of the rung that was reached is charged and the
// rest is given back. The δ that Reserve spent stays spent; stopped may not have a
// larger one. A mechanism that never released a rung is settled with the zero
// loss. The error is accounts.ErrSettle or a *units.RangeError.
func (u *Unified) Settle(worst, stopped loss.ZCDP) error {
	if err := worst.Validate(); err != nil {
		return err
	}
	if err := stopped.Validate(); err != nil {
		return err
	}
	if stopped.Delta > worst.Delta {
		return fmt.Errorf("settling with a larger delta than was reserved: %w", accounts.ErrSettle)
	}
	return u.sums.settle(worst.Rho, stopped.Rho)
}

// Left returns what is neither spent nor reserved of ρ, and what is left of δ.
func (u *Unified) Left() loss.ZCDP {
	rho, delta := u.sums.left()
	return loss.ZCDP{Rho: rho, Delta: delta}
}

// Spent returns what was charged of ρ and of δ, rounded up.
func (u *Unified) Spent() loss.ZCDP {
	rho, delta := u.sums.spent()
	return loss.ZCDP{Rho: rho, Delta: delta}
}

// Budget returns ρ and δ of the budget, rounded down.
func (u *Unified) Budget() loss.ZCDP {
	rho, delta := u.sums.budget()
	return loss.ZCDP{Rho: rho, Delta: delta}
}

// Fresh returns a filter of the same budget of which nothing is spent.
func (u *Unified) Fresh() Filter[loss.ZCDP] { return &Unified{sums: u.sums.fresh()} }

// Reserved returns ρ of the open reservations, rounded up. Their δ is spent.
func (u *Unified) Reserved() loss.ZCDP {
	return loss.ZCDP{Rho: u.sums.Loss.Reserved().FloatUp()}
}
