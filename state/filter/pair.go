package filter

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
)

// pair is two sums that are spent together: a loss (ε or ρ), of which a part may be
// reserved, and the δ that comes with it, which is spent at once. Arguments are valid
// losses.
type pair struct {
	loss, delta fixed.Meter
}

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
	return pair{loss: losses, delta: deltas}, nil
}

func (p *pair) fits(l, delta float64) bool {
	return p.loss.Fits(fixed.Up(l)) && p.delta.Fits(fixed.Up(delta))
}

func (p *pair) spend(l, delta float64) error {
	amount, failures := fixed.Up(l), fixed.Up(delta)
	if !p.delta.Fits(failures) || !p.loss.Take(amount) {
		return ErrExceeded
	}
	p.delta.Take(failures)
	return nil
}

func (p *pair) reserve(worst, delta float64) error {
	amount, failures := fixed.Up(worst), fixed.Up(delta)
	if !p.delta.Fits(failures) || !p.loss.Reserve(amount) {
		return ErrExceeded
	}
	p.delta.Take(failures)
	return nil
}

func (p *pair) settle(worst, actual float64) error {
	if !p.loss.Settle(fixed.Up(worst), fixed.Up(actual)) {
		return fmt.Errorf("charging what was realised of a reservation: %w", accounts.ErrSettle)
	}
	return nil
}

func (p *pair) left() (l, delta float64) {
	return p.loss.Left().FloatDown(), p.delta.Left().FloatDown()
}

func (p *pair) spent() (l, delta float64) {
	return p.loss.Taken().FloatUp(), p.delta.Taken().FloatUp()
}

func (p *pair) budget() (l, delta float64) {
	return p.loss.Limit().FloatDown(), p.delta.Limit().FloatDown()
}

func (p *pair) fresh() pair {
	return pair{loss: fixed.NewMeter(p.loss.Limit()), delta: fixed.NewMeter(p.delta.Limit())}
}
