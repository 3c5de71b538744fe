package compose

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Question asks for the ε at a δ, or for the δ at an ε. EpsilonAt and DeltaAt return Questions; the
// zero value is not a question.
type Question struct {
	forDelta bool // epsilon is given; otherwise delta is
	epsilon  float64
	delta    float64
}

// EpsilonAt asks for the least ε at a δ, budgets.MinDelta ≤ δ < 1. The error is a
// *units.RangeError.
func EpsilonAt(delta float64) (Question, error) {
	q := Question{delta: delta}
	return q, q.validate()
}

// DeltaAt asks for the least δ at an ε, 0 ≤ ε ≤ budgets.MaxEpsilon. The error is a
// *units.RangeError.
func DeltaAt(epsilon float64) (Question, error) {
	q := Question{forDelta: true, epsilon: epsilon}
	return q, q.validate()
}

func (q Question) validate() error {
	if q.forDelta {
		return units.Require(q.epsilon >= 0 && q.epsilon <= budgets.MaxEpsilon, "epsilon", q.epsilon,
			"at least 0 and at most 1e6")
	}
	return budgets.CheckDelta(q.delta)
}

// with returns the given number of the question together with the result.
func (q Question) with(result float64) loss.Approx {
	if q.forDelta {
		return loss.Approx{Epsilon: q.epsilon, Delta: result}
	}
	return loss.Approx{Epsilon: result, Delta: q.delta}
}

// ErrNotApplicable matches every *NotApplicableError in errors.Is. It is an ordinary outcome, and
// other accountants may apply.
var ErrNotApplicable = errors.New("the accountant does not apply")

// NotApplicableError states why an accountant does not apply to a question about a list.
type NotApplicableError struct {
	Reason string // for human readers; contains names of mechanisms and numbers from the list
}

func (e *NotApplicableError) Error() string { return e.Reason }

// Is reports whether target is ErrNotApplicable.
func (e *NotApplicableError) Is(target error) bool {
	return target == ErrNotApplicable
} //nolint:errorlint // Is compares

func notApplicable(format string, args ...any) error {
	return &NotApplicableError{Reason: fmt.Sprintf(format, args...)}
}
