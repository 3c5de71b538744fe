package filter

import (
	"cmp"
	"errors"
	"math/big"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/internal/bigmath"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ErrExceeded is returned where a loss does not fit what is left of a budget. It is
// an ordinary outcome: the mechanism must not run, and nothing was spent.
var ErrExceeded = errors.New("loss does not fit what is left of the budget")

// Filter decides whether one more mechanism of loss L may run. Implementations are
// not safe for concurrent use.
type Filter[L any] interface {
	// Fits reports whether Spend would take this loss. It changes nothing, and is
	// false for an invalid loss.
	Fits(L) bool

	// Spend takes a loss. Where it does not fit the error is ErrExceeded, where it
	// is invalid a *units.RangeError; either way nothing has changed.
	Spend(L) error

	// Left returns the largest loss that still fits, rounded down. Where a loss
	// has several numbers each of them is the largest beside any others that fit.
	Left() L

	// Spent returns what was accepted, all together, as one loss in the units of L,
	// rounded up. What is reserved is not part of it.
	Spent() L

	// Budget returns the budget in the units of L, rounded down.
	Budget() L

	// Fresh returns a filter of the same budget of which nothing is spent: a budget that
	// is computed from (ε, δ) is computed once. It is another budget; see the package.
	Fresh() Filter[L]
}

// Reserver is a Filter for mechanisms whose loss is known only when they have
// stopped.
type Reserver[L any] interface {
	Filter[L]

	// Reserve sets the worst case aside before the mechanism begins. Errors are those
	// of Spend.
	Reserve(worst L) error

	// Settle ends a reservation of worst: actual is charged and the rest is given back.
	// The error is accounts.ErrSettle if actual is above worst or less than worst is
	// reserved, a *units.RangeError if one of them is invalid; either way nothing has
	// changed.
	Settle(worst, actual L) error

	// Reserved returns the sum of the open reservations, rounded up.
	Reserved() L
}

const leastBudget = 0x1p-80

// limitRange is what a budget can be in units of a sum.
const limitRange = "at least 2^-80 (8.3e-25) and below 2^48 (2.8e14)"

// limit returns a Meter for a budget, which it holds as it is, or a *units.RangeError if
// that would be too little or too much.
func limit(name string, budget float64) (fixed.Meter, error) {
	if !(budget >= leastBudget && budget < 0x1p48) {
		return fixed.Meter{}, &units.RangeError{Parameter: name, Value: budget, Range: limitRange}
	}
	return fixed.NewMeter(fixed.Down(budget)), nil
}

// limitOf is limit for a budget that was computed from a promise, rounded down.
func limitOf(name string, budget *big.Float) (fixed.Meter, error) {
	if _, err := limit(name, bigmath.RoundDown(budget)); err != nil {
		return fixed.Meter{}, err
	}
	return fixed.NewMeter(fixed.BigDown(budget)), nil
}

// layoutLoss is the Meter of a budget at rest: see limit.
func layoutLoss(c *stored.Codec, m *fixed.Meter, reserves bool) {
	c.Meter(m, reserves)
	if budget := m.Limit().FloatDown(); budget < leastBudget {
		c.Fail(&units.RangeError{Parameter: "budget", Value: budget, Range: limitRange})
	}
}

// failure returns a Meter for a sum of δ: 0, or from 2^-80 to below 1.
func failure(name string, delta float64) (fixed.Meter, error) {
	if delta != 0 && !(delta >= 0x1p-80 && delta < 1) {
		return fixed.Meter{}, &units.RangeError{Parameter: name, Value: delta, Range: "0, or at least 2^-80 (8.3e-25) and below 1"}
	}
	return fixed.NewMeter(fixed.Down(delta)), nil
}

// checkPromise returns a *units.RangeError unless a formula of ε and ln 1/δ can be
// evaluated: 2^-80 ≤ ε ≤ budgets.MaxEpsilon and budgets.MinDelta ≤ δ < 1.
func checkPromise(p loss.Approx) error {
	return cmp.Or(
		units.Require(p.Epsilon >= 0x1p-80 && p.Epsilon <= budgets.MaxEpsilon, "epsilon", p.Epsilon, "at least 2^-80 (8.3e-25) and at most 1e6"),
		budgets.CheckDelta(p.Delta),
	)
}
