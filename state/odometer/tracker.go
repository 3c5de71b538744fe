package odometer

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// ErrStep is returned by a Tracker for a loss that is larger than a whole step:
// nothing was recorded, and the mechanism must not run under this tracker.
var ErrStep = errors.New("loss is larger than one step of the tracker")

// Tracker follows a run by filters of one budget Δ, one after the other (Feldman
// and Zrnic, 2021, Algorithm 5): a loss that no longer fits the filter at hand
// opens the next one and is charged there. For every m fixed in advance, what was
// released while Steps was at most m is an adaptive composition of m mechanisms
// of budget Δ each (Proposition 4.10).
//
// What a filter had left when it was replaced is lost, up to one step each; two
// successive filters have together taken more than Δ, so that Steps stays below
// 2·(sum of losses)/Δ + 1. GDPTotal, ZCDPTotal and RenyiTotal have the same claim
// without that waste.
//
// Not safe for concurrent use.
type Tracker[L any] struct {
	unreadable
	step    filter.Filter[L] // nothing is spent of it
	current filter.Filter[L] // nil before the first loss
	steps   uint64
}

var _ Odometer[loss.GDP, uint64] = (*Tracker[loss.GDP])(nil)

// NewTracker returns a tracker over filters of the budget of step, which itself is not
// used: one step is what that has as a budget, whatever was spent of it. The filter must
// be valid for adaptively chosen losses, as all of package filter are.
func NewTracker[L any](step filter.Filter[L]) *Tracker[L] {
	return &Tracker[L]{step: step.Fresh()}
}

// Record adds l. It returns ErrStep if l does not fit a whole step, and the error
// of the filter, a *units.RangeError, if l is invalid; nothing is recorded then.
func (t *Tracker[L]) Record(l L) error {
	if t.current != nil {
		err := t.current.Spend(l)
		if err == nil {
			return nil
		}
		if !errors.Is(err, filter.ErrExceeded) {
			return fmt.Errorf("recording a loss: %w", err)
		}
	}
	next := t.step.Fresh()
	if err := next.Spend(l); errors.Is(err, filter.ErrExceeded) {
		return fmt.Errorf("recording a loss: %w", ErrStep)
	} else if err != nil {
		return fmt.Errorf("recording a loss: %w", err)
	}
	t.current = next
	t.steps++
	return nil
}

// Steps returns the number of filters opened so far, 0 before the first loss.
func (t *Tracker[L]) Steps() uint64 { return t.steps }

// Bound returns Steps.
func (t *Tracker[L]) Bound() uint64 { return t.steps }

// RenyiTracker is the Tracker of Rényi divergences, at one or many orders.
type RenyiTracker struct {
	unreadable
	*Tracker[loss.RDP]
	step loss.RDP
}

var _ Odometer[loss.RDP, loss.RDP] = RenyiTracker{}

// NewRenyiTracker returns a tracker whose filters are filter.RenyiOrders of the
// budget step. The error is a *units.RangeError. The slice is not kept.
func NewRenyiTracker(step loss.RDP) (RenyiTracker, error) {
	step = append(loss.RDP(nil), step...)
	f, err := filter.NewRenyiOrders(step)
	if err != nil {
		return RenyiTracker{}, fmt.Errorf("making the filter of one step: %w", err)
	}
	return RenyiTracker{Tracker: NewTracker(f), step: step}, nil
}

// Bound returns m·Δ_α at every order, m being Steps; a fresh slice.
func (t RenyiTracker) Bound() loss.RDP {
	bound, steps := make(loss.RDP, len(t.step)), rounding.IntegerUp(t.steps)
	for i, o := range t.step {
		bound[i] = loss.Order{Alpha: o.Alpha, Epsilon: rounding.ProductUp(steps, o.Epsilon)}
	}
	return bound
}

// ZCDPTracker is the Tracker of zero-concentrated differential privacy.
type ZCDPTracker struct {
	unreadable
	*Tracker[loss.ZCDP]
	rho float64
}

var _ Odometer[loss.ZCDP, loss.ZCDP] = ZCDPTracker{}

// NewZCDPTracker returns a tracker whose filters have the budget rho, 2^-80 ≤ rho <
// 2^48, and no δ. The error is a *units.RangeError.
func NewZCDPTracker(rho float64) (ZCDPTracker, error) {
	f, err := filter.NewApproxZCDP(rho, 0)
	if err != nil {
		return ZCDPTracker{}, fmt.Errorf("making the filter of one step: %w", err)
	}
	return ZCDPTracker{Tracker: NewTracker(f), rho: rho}, nil
}

// Bound returns m·ρ, m being Steps.
func (t ZCDPTracker) Bound() loss.ZCDP {
	return loss.ZCDP{Rho: rounding.ProductUp(rounding.IntegerUp(t.steps), t.rho)}
}

// GDPTracker is the Tracker of Gaussian differential privacy (Koskela, Tobaben and
// Honkela, Appendix C.5).
type GDPTracker struct {
	unreadable
	*Tracker[loss.GDP]
	mu float64
}

var _ Odometer[loss.GDP, loss.GDP] = GDPTracker{}

// NewGDPTracker returns a tracker whose filters have the budget mu, 2^-40 ≤ mu <
// 2^24. The error is a *units.RangeError.
func NewGDPTracker(mu float64) (GDPTracker, error) {
	f, err := filter.NewGDP(mu)
	if err != nil {
		return GDPTracker{}, fmt.Errorf("making the filter of one step: %w", err)
	}
	return GDPTracker{Tracker: NewTracker(f), mu: mu}, nil
}

// Bound returns μ·√m, m being Steps.
func (t GDPTracker) Bound() loss.GDP {
	return loss.GDP{Mu: rounding.ProductUp(rounding.RootUp(rounding.IntegerUp(t.steps)), t.mu)}
}
