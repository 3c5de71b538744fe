package individual

import (
	"math"
	"math/bits"

	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/units"
)

// SquaredNorm is Σ v_j² of a vector of integers. 2^64 − 1 stands for everything from
// there on, and fits no budget.
type SquaredNorm uint64

// Norm is the filter of one user's norm budget: squared norms add up to at most the
// budget, exactly. Not safe for concurrent use.
type Norm struct {
	unreadable
	budget, spent SquaredNorm // spent ≤ budget
}

var _ filter.Filter[SquaredNorm] = (*Norm)(nil)

// NewNorm returns a filter of that budget, at least 1 and below 2^64 − 1. The error
// is a *units.RangeError.
func NewNorm(budget SquaredNorm) (*Norm, error) {
	if budget == 0 || budget == math.MaxUint64 {
		return nil, &units.RangeError{Parameter: "norm", Value: float64(budget), Range: "at least 1 and below 2^64 - 1"}
	}
	return &Norm{budget: budget}, nil
}

// Fits reports whether s is at most what is left.
func (n *Norm) Fits(s SquaredNorm) bool { return s <= n.Left() }

// Spend takes s, or returns filter.ErrExceeded.
func (n *Norm) Spend(s SquaredNorm) error {
	if !n.Fits(s) {
		return filter.ErrExceeded
	}
	n.spent += s
	return nil
}

// Left returns what is left.
func (n *Norm) Left() SquaredNorm { return n.budget - n.spent }

// Spent returns what was accepted.
func (n *Norm) Spent() SquaredNorm { return n.spent }

// Budget returns the budget.
func (n *Norm) Budget() SquaredNorm { return n.budget }

// Fresh returns a filter of the same budget of which nothing is spent.
func (n *Norm) Fresh() filter.Filter[SquaredNorm] { return &Norm{budget: n.budget} }

// squaredNorm returns Σ v_j², or 2^64 − 1 if it does not fit.
func squaredNorm(vector []int64) SquaredNorm {
	var sum uint64
	for _, v := range vector {
		u := uint64(v)
		if v < 0 {
			u = -u
		}
		hi, lo := bits.Mul64(u, u)
		var carry uint64
		sum, carry = bits.Add64(sum, lo, 0)
		if hi != 0 || carry != 0 {
			return math.MaxUint64
		}
	}
	return SquaredNorm(sum)
}
