package filter

import (
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
)

// A rule is the halting rule of a theorem with what was spent of its budget: all there is to a
// filter, and all of it that is stored.
type rule[L, S any] interface {
	stored.Layout[S]
	// admit returns nil if l fits, and does then what act says; ErrExceeded if it does not, and a
	// *units.RangeError if it is invalid.
	admit(act fixed.Act, l L) error
	left() L
	spent() L
	budget() L
	fresh() S
}

type value[S any, P stored.Layout[S]] = stored.Value[S, P]

// filterOf is the filter of a rule.
type filterOf[L, S any, P rule[L, S]] struct{ value[S, P] }

func newFilter[L, S any, P rule[L, S]](s S) filterOf[L, S, P] {
	return filterOf[L, S, P]{stored.New[S, P](s)}
}

func (f *filterOf[L, S, P]) rule() P { return stored.Of(&f.value) }

// Fits reports whether Spend would take l; it is false for an invalid loss. It changes nothing.
func (f *filterOf[L, S, P]) Fits(l L) bool { return f.rule().admit(fixed.Ask, l) == nil }

// Spend takes l, or returns ErrExceeded or a *units.RangeError.
func (f *filterOf[L, S, P]) Spend(l L) error { return f.rule().admit(fixed.Spend, l) }

// Left returns the largest loss that still fits, rounded down: of several numbers each is the
// largest beside the others.
func (f *filterOf[L, S, P]) Left() L { return f.rule().left() }

// Spent returns what was accepted, all together, rounded up.
func (f *filterOf[L, S, P]) Spent() L { return f.rule().spent() }

// Budget returns the budget, rounded down.
func (f *filterOf[L, S, P]) Budget() L { return f.rule().budget() }

// fresh returns a filter of the same budget of which nothing is spent.
func (f *filterOf[L, S, P]) fresh() filterOf[L, S, P] { return newFilter[L, S, P](f.rule().fresh()) }

// exceeded returns ErrExceeded unless a loss was admitted.
func exceeded(admitted bool) error {
	if admitted {
		return nil
	}
	return ErrExceeded
}
