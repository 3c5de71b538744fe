package filter

import (
	"cmp"
	"fmt"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// sums is the rule of two sums, a loss and the δ that comes with it: filters of this rule differ in
// what the loss is called, whether a part of it may be reserved, and what the theorem says of both.
type sums[L checked, K kind[L]] struct{ fixed.Pair }

type checked interface{ Validate() error }

// A kind is what a filter of sums is; its values are empty.
type kind[L any] interface {
	name() stored.Kind
	reserves() bool
	numbers(L) (loss, delta float64)
	of(loss, delta float64) L
}

type (
	ofApprox struct{}
	ofZCDP   struct{}
)

func (ofApprox) reserves() bool                       { return false }
func (ofApprox) numbers(l loss.Approx) (_, _ float64) { return l.Epsilon, l.Delta }
func (ofApprox) of(epsilon, delta float64) loss.Approx {
	return loss.Approx{Epsilon: epsilon, Delta: delta}
}
func (ofZCDP) reserves() bool                     { return false }
func (ofZCDP) numbers(l loss.ZCDP) (_, _ float64) { return l.Rho, l.Delta }
func (ofZCDP) of(rho, delta float64) loss.ZCDP    { return loss.ZCDP{Rho: rho, Delta: delta} }

// newPair returns a pair with the limit of a budget for the first and that of a
// failure probability for the second, or a *units.RangeError.
func newPair(name string, budget, delta float64) (fixed.Pair, error) {
	losses, err := limit(name, budget)
	if err != nil {
		return fixed.Pair{}, err
	}
	deltas, err := failure("delta", delta)
	if err != nil {
		return fixed.Pair{}, err
	}
	return fixed.Pair{Loss: losses, Delta: deltas}, nil
}

func (s *sums[L, K]) admit(act fixed.Act, l L) error {
	if err := l.Validate(); err != nil {
		return err
	}
	var k K
	amount, delta := k.numbers(l)
	return exceeded(s.Admit(act, fixed.Up(amount), fixed.Up(delta)))
}

func (s *sums[L, K]) left() L {
	var k K
	return k.of(s.Loss.Left().FloatDown(), s.Delta.Left().FloatDown())
}

func (s *sums[L, K]) spent() L {
	var k K
	return k.of(s.Loss.Taken().FloatUp(), s.Delta.Taken().FloatUp())
}

func (s *sums[L, K]) budget() L {
	var k K
	return k.of(s.Loss.Limit().FloatDown(), s.Delta.Limit().FloatDown())
}

func (s *sums[L, K]) fresh() sums[L, K] {
	return sums[L, K]{fixed.Pair{Loss: s.Loss.Fresh(), Delta: s.Delta.Fresh()}}
}

// Kind is that of a state at rest.
func (s *sums[L, K]) Kind() stored.Kind {
	var k K
	return k.name()
}

// Layout names the fields at rest.
func (s *sums[L, K]) Layout(c *stored.Codec) {
	var k K
	layoutLoss(c, &s.Loss, k.reserves())
	c.Meter(&s.Delta, false)
	_, err := failure("delta", s.Delta.Limit().FloatDown())
	c.Fail(err)
}

// filterOfSums is the filter of two sums.
type filterOfSums[L checked, K kind[L]] = filterOf[L, sums[L, K], *sums[L, K]]

// reserverOfSums is a filter of two sums of which the first may be reserved.
type reserverOfSums[L checked, K kind[L]] struct{ filterOfSums[L, K] }

// Reserve sets the largest loss that the mechanism can come to aside and spends its δ at once. The
// error is ErrExceeded or a *units.RangeError.
func (r *reserverOfSums[L, K]) Reserve(worst L) error { return r.rule().admit(fixed.Reserve, worst) }

// Settle ends a reservation of worst: what was realised is charged and the rest is given back. The
// δ that Reserve spent stays spent; realised may not have a larger one. The error is
// accounts.ErrSettle or a *units.RangeError.
func (r *reserverOfSums[L, K]) Settle(worst, realised L) error {
	if err := cmp.Or(worst.Validate(), realised.Validate()); err != nil {
		return err
	}
	var k K
	most, spent := k.numbers(worst)
	actual, delta := k.numbers(realised)
	if delta > spent {
		return fmt.Errorf("settling with a larger delta than was reserved: %w", accounts.ErrSettle)
	}
	if !r.rule().Loss.Settle(fixed.Up(most), fixed.Up(actual)) {
		return fmt.Errorf("charging what was realised of a reservation: %w", accounts.ErrSettle)
	}
	return nil
}

// Reserved returns the sum of the open reservations, rounded up. Their δ is spent.
func (r *reserverOfSums[L, K]) Reserved() L {
	var k K
	return k.of(r.rule().Loss.Reserved().FloatUp(), 0)
}
