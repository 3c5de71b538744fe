package accounting

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ErrExceeded means that a loss does not fit into the rest of a budget. It is an ordinary outcome:
// the mechanism must not run, and nothing has been spent.
var ErrExceeded = errors.New("loss does not fit what is left of the budget")

// Filter decides whether one more mechanism, with a loss of type L, may run. Each constructor
// documents its promise. The zero value refuses everything. A copy shares its sums: see Fresh.
type Filter[L any] struct {
	accounts.NoJSON
	rule   *rule[L]
	meters []fixed.Meter  // one per sum
	prices []fixed.Amount // scratch
}

// rule is the halting rule of a theorem: every sum must stay within its limit. It is immutable.
type rule[L any] struct {
	header
	sums[L]
	limits []fixed.Amount
	// condition is a condition on the sums in addition to the limits. It is nil for most theorems.
	condition condition[L]
}

type condition[L any] interface {
	// allows reports whether the spent amounts and the prices of one more loss fit if the limit is
	// multiplied by tolerance.
	allows(meters []fixed.Meter, prices []fixed.Amount, tolerance float64) bool
	left(meters []fixed.Meter) L
	spent(meters []fixed.Meter) L
	budget() L
}

// newFilter returns a filter with the limits. The parameters are part of a stored state's identity.
func newFilter[L any](name string, s sums[L], limits []fixed.Amount, parameters ...float64) *Filter[L] {
	r := &rule[L]{header: newHeader(name, parameters, limits), sums: s, limits: limits}
	return (&Filter[L]{rule: r}).Fresh()
}

// Fresh returns an unused filter with an equal, separate budget; see the package comment.
func (f *Filter[L]) Fresh() *Filter[L] {
	if f.rule == nil {
		return &Filter[L]{}
	}
	return &Filter[L]{rule: f.rule, meters: f.fresh(), prices: make([]fixed.Amount, len(f.rule.limits))}
}

func (f *Filter[L]) fresh() []fixed.Meter {
	meters := make([]fixed.Meter, len(f.rule.limits))
	for i, limit := range f.rule.limits {
		meters[i] = fixed.NewMeter(limit)
	}
	return meters
}

// Fits reports whether Spend would accept l. An invalid loss does not fit.
func (f *Filter[L]) Fits(l L) bool { return f.admit(fixed.Ask, l) == nil }

// Spend charges l. The error is ErrExceeded if l does not fit, or a *units.RangeError.
func (f *Filter[L]) Spend(l L) error { return f.admit(fixed.Spend, l) }

// admit applies act to the first sum if l fits. Unless act is Ask, it then spends the other prices.
func (f *Filter[L]) admit(act fixed.Act, l L) error {
	if f.rule == nil {
		return ErrExceeded
	}
	if err := f.rule.price(l, f.prices); err != nil {
		return err
	}
	for i := 1; i < len(f.meters); i++ {
		if !f.meters[i].Admit(fixed.Ask, f.prices[i]) {
			return ErrExceeded
		}
	}
	if c := f.rule.condition; c != nil && !c.allows(f.meters, f.prices, 1) || !f.meters[0].Admit(act, f.prices[0]) {
		return ErrExceeded
	}
	for i := 1; i < len(f.meters) && act != fixed.Ask; i++ {
		f.meters[i].Admit(fixed.Spend, f.prices[i])
	}
	return nil
}

// Left returns the largest loss that still fits, rounded down. If a loss consists of several
// numbers, the returned values fit together.
func (f *Filter[L]) Left() L {
	if f.rule != nil && f.rule.condition != nil {
		return f.rule.condition.left(f.meters)
	}
	return f.total((*fixed.Meter).Left, down)
}

// Spent returns the sum of the charged losses as one loss, rounded up. Reservations are excluded.
func (f *Filter[L]) Spent() L {
	if f.rule != nil && f.rule.condition != nil {
		return f.rule.condition.spent(f.meters)
	}
	return f.total((*fixed.Meter).Taken, up)
}

// Budget returns the budget, rounded down.
func (f *Filter[L]) Budget() L {
	if f.rule != nil && f.rule.condition != nil {
		return f.rule.condition.budget()
	}
	return f.total((*fixed.Meter).Limit, down)
}

func (f *Filter[L]) total(amount func(*fixed.Meter) fixed.Amount, r direction) (l L) {
	if f.rule == nil {
		return l
	}
	for i := range f.meters {
		f.prices[i] = amount(&f.meters[i])
	}
	return f.rule.loss(f.prices, r)
}

// Reserver is a Filter for mechanisms whose loss is known only once they have stopped.
type Reserver[L any] struct{ Filter[L] }

// Fresh returns an unused Reserver with the same budget.
func (r *Reserver[L]) Fresh() *Reserver[L] { return &Reserver[L]{*r.Filter.Fresh()} }

// Reserve reserves, before a mechanism starts, the largest loss that the mechanism can have. The δ
// is spent at once. Errors are as for Spend.
func (r *Reserver[L]) Reserve(worst L) error { return r.admit(fixed.Reserve, worst) }

// Settle ends a reservation of worst: it charges realised and releases the rest. The δ stays spent.
// The error is accounts.ErrSettle if any number in realised exceeds the number in worst, or if less
// than worst is reserved; or it is a *units.RangeError.
func (r *Reserver[L]) Settle(worst, realised L) error {
	if r.rule == nil {
		return accounts.ErrSettle
	}
	reserved, charge := make([]fixed.Amount, len(r.prices)), r.prices
	if err := cmp.Or(r.rule.price(worst, reserved), r.rule.price(realised, charge)); err != nil {
		return err
	}
	for i := range charge[1:] {
		if charge[i+1].Cmp(reserved[i+1]) > 0 {
			return fmt.Errorf("settling with a larger delta than was reserved: %w", accounts.ErrSettle)
		}
	}
	if !r.meters[0].Settle(reserved[0], charge[0]) {
		return fmt.Errorf("charging the realised part of a reservation: %w", accounts.ErrSettle)
	}
	return nil
}

// Reserved returns the sum of the open reservations, rounded up, without δ, which is spent.
func (r *Reserver[L]) Reserved() L { return r.total((*fixed.Meter).Reserved, up) }

const minBudget = 0x1p-80

// limit returns a budget as an exact limit. The error is a *units.RangeError unless 2^-80 ≤ budget
// < 2^48.
func limit(name string, budget float64) (fixed.Amount, error) {
	err := units.Require(budget >= minBudget && budget < 0x1p48, name, budget, "at least 2^-80 (8.3e-25) and below "+
		"2^48 (2.8e14)")
	return fixed.Down(budget), err
}

// limitOf returns a budget that was computed from a promise as the limit of a sum, rounded down.
// The error is as for limit.
func limitOf(name string, budget *big.Float) (fixed.Amount, error) {
	if _, err := limit(name, bigmath.RoundDown(budget)); err != nil {
		return fixed.Amount{}, err
	}
	return fixed.BigDown(budget), nil
}

// limits returns the limits of two sums: of the losses, and of their δ. delta must be 0, or at
// least 2^-80 and below 1.
func limits(name string, budget, delta float64) ([]fixed.Amount, error) {
	l, err1 := limit(name, budget)
	d, err2 := failure(delta)
	return []fixed.Amount{l, d}, cmp.Or(err1, err2)
}

func failure(delta float64) (fixed.Amount, error) {
	ok := delta == 0 || delta >= minBudget && delta < 1
	return fixed.Down(delta), units.Require(ok, "delta", delta, "0, or at least 2^-80 (8.3e-25) and below 1")
}

// checkPromise returns a *units.RangeError unless 2^-80 ≤ ε ≤ budgets.MaxEpsilon and
// budgets.MinDelta ≤ δ < 1. Within this range, formulas in ε and ln 1/δ can be evaluated.
func checkPromise(p loss.Approx) error {
	return cmp.Or(
		units.Require(p.Epsilon >= minBudget && p.Epsilon <= budgets.MaxEpsilon, "epsilon", p.Epsilon,
			"at least 2^-80 (8.3e-25) and at most 1e6"),
		budgets.CheckDelta(p.Delta),
	)
}

// checkBelowInverseE returns a *units.RangeError unless budgets.MinDelta ≤ δ < 1/e.
func checkBelowInverseE(delta float64) error {
	return units.Require(delta >= budgets.MinDelta && delta < 1/math.E, "delta", delta,
		"at least 1e-300 and below 1/e (0.3678...)")
}
