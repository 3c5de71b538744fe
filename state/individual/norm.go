package individual

import (
	"math"
	"math/bits"

	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/units"
)

// SquaredNorm is Σ v_j² of a vector of integers. 2^64 − 1 stands for everything from
// there on, and fits no budget.
type SquaredNorm uint64

// Norm is the filter of one user's norm budget: squared norms add up to at most the
// budget, exactly. Not safe for concurrent use.
type Norm struct{ value[norm, *norm] }

type norm struct{ budget, spent SquaredNorm } // spent ≤ budget

var _ filter.Filter[SquaredNorm] = (*Norm)(nil)

// NewNorm returns a filter of that budget, at least 1 and below 2^64 − 1. The error
// is a *units.RangeError.
func NewNorm(budget SquaredNorm) (*Norm, error) {
	if budget == 0 || budget == math.MaxUint64 {
		return nil, &units.RangeError{Parameter: "norm", Value: float64(budget), Range: "at least 1 and below 2^64 - 1"}
	}
	return newNorm(budget), nil
}

func newNorm(budget SquaredNorm) *Norm { return &Norm{stored.New(norm{budget: budget})} }

// Fits reports whether s is at most what is left.
func (n *Norm) Fits(s SquaredNorm) bool { return s <= n.Left() }

// Spend takes s, or returns filter.ErrExceeded.
func (n *Norm) Spend(s SquaredNorm) error {
	if !n.Fits(s) {
		return filter.ErrExceeded
	}
	stored.Of(&n.value).spent += s
	return nil
}

// Left returns what is left.
func (n *Norm) Left() SquaredNorm { return n.Budget() - n.Spent() }

// Spent returns what was accepted.
func (n *Norm) Spent() SquaredNorm { return stored.Of(&n.value).spent }

// Budget returns the budget.
func (n *Norm) Budget() SquaredNorm { return stored.Of(&n.value).budget }

// Fresh returns a filter of the same budget of which nothing is spent.
func (n *Norm) Fresh() filter.Filter[SquaredNorm] { return newNorm(n.Budget()) }

func (*norm) Kind() stored.Kind { return "individual.Norm" }

func (n *norm) Layout(c *stored.Codec) {
	c.Parameters.Uint((*uint64)(&n.budget))
	_, err := NewNorm(n.budget)
	c.Fail(err)
	c.Progress.Uint((*uint64)(&n.spent))
	c.Check(n.spent <= n.budget, "more is spent than the budget has")
}

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
