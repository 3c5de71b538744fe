package filter

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
)

// pair is two sums that are spent together: a loss (ε or ρ), of which a part may be
// reserved, and the δ that comes with it, which is spent at once. Arguments are valid
// losses.
type pair struct{ fixed.Pair }

// newPair returns a pair with the limit of a budget for the first and that of a
// failure probability for the second, or a *units.RangeError.
func newPair(name string, budget, delta float64) (pair, error) {
	losses, err := limit(name, budget)
	if err != nil {
		return pair{}, err
	}
	deltas, err := failure("delta", delta)
	if err != nil {
		return pair{}, err
	}
	return pair{fixed.Pair{Loss: losses, Delta: deltas}}, nil
}

func (p *pair) admit(act fixed.Act, l, delta float64) bool {
	return p.Admit(act, fixed.Up(l), fixed.Up(delta))
}

func (p *pair) fits(l, delta float64) bool { return p.admit(fixed.Ask, l, delta) }

func (p *pair) spend(l, delta float64) error {
	if !p.admit(fixed.Spend, l, delta) {
		return ErrExceeded
	}
	return nil
}

func (p *pair) reserve(worst, delta float64) error {
	if !p.admit(fixed.Reserve, worst, delta) {
		return ErrExceeded
	}
	return nil
}

func (p *pair) settle(worst, actual float64) error {
	if !p.Loss.Settle(fixed.Up(worst), fixed.Up(actual)) {
		return fmt.Errorf("charging what was realised of a reservation: %w", accounts.ErrSettle)
	}
	return nil
}

func (p *pair) left() (l, delta float64) {
	return p.Loss.Left().FloatDown(), p.Delta.Left().FloatDown()
}

func (p *pair) spent() (l, delta float64) {
	return p.Loss.Taken().FloatUp(), p.Delta.Taken().FloatUp()
}

func (p *pair) budget() (l, delta float64) {
	return p.Loss.Limit().FloatDown(), p.Delta.Limit().FloatDown()
}

func (p *pair) fresh() pair {
	return pair{fixed.Pair{Loss: fixed.NewMeter(p.Loss.Limit()), Delta: fixed.NewMeter(p.Delta.Limit())}}
}
