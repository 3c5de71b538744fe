package odometer

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// steps is a Tracker that knows the budget S of a step, and so what its steps come to.
type steps[L, S any, K stepKind[L, S]] struct {
	value[stepped[L, S, K], *stepped[L, S, K]]
}

type stepped[L, S any, K stepKind[L, S]] struct {
	tracker *Tracker[L] // of all copies
	step    S
}

// A stepKind is what a tracker of one kind of loss is; its values are empty.
type stepKind[L, S any] interface {
	name() stored.Kind
	filter(S) (filter.Filter[L], error)
	layout(*stored.Codec, *S)
}

func newSteps[L, S any, K stepKind[L, S]](step S) (steps[L, S, K], error) {
	var k K
	f, err := k.filter(step)
	if err != nil {
		return steps[L, S, K]{}, fmt.Errorf("making the filter of one step: %w", err)
	}
	return steps[L, S, K]{stored.New(stepped[L, S, K]{NewTracker(f), step})}, nil
}

func (t steps[L, S, K]) ledger() *stepped[L, S, K] { return stored.Of(&t.value) }

// Record adds l, as Tracker does.
func (t steps[L, S, K]) Record(l L) error { return t.ledger().tracker.Record(l) }

// Steps returns the number of filters opened so far, 0 before the first loss.
func (t steps[L, S, K]) Steps() uint64 { return t.ledger().tracker.Steps() }

func (*stepped[L, S, K]) Kind() stored.Kind {
	var k K
	return k.name()
}

func (t *stepped[L, S, K]) Layout(c *stored.Codec) {
	var k K
	k.layout(c, &t.step)
	made(c, t)(newSteps[L, S, K](t.step))
	if !c.Failed() {
		stored.Of(&t.tracker.value).progress(c)
	}
}

// Become lets what was copied before go on with what was read.
func (t *stepped[L, S, K]) Become(read stepped[L, S, K]) {
	if t.tracker == nil {
		*t = read
		return
	}
	*t.tracker = *read.tracker
}

// RenyiTracker is the Tracker of Rényi divergences, at one or many orders.
type RenyiTracker struct {
	steps[loss.RDP, loss.RDP, renyiSteps]
}

type renyiSteps struct{}

var _ Odometer[loss.RDP, loss.RDP] = RenyiTracker{}

// NewRenyiTracker returns a tracker whose filters are filter.RenyiOrders of the
// budget step. The error is a *units.RangeError. The slice is not kept.
func NewRenyiTracker(step loss.RDP) (RenyiTracker, error) {
	t, err := newSteps[loss.RDP, loss.RDP, renyiSteps](append(loss.RDP(nil), step...))
	return RenyiTracker{t}, err
}

// Bound returns m·Δ_α at every order, m being Steps; a fresh slice.
func (t RenyiTracker) Bound() loss.RDP {
	bound, steps := make(loss.RDP, len(t.ledger().step)), rounding.IntegerUp(t.Steps())
	for i, o := range t.ledger().step {
		bound[i] = loss.Order{Alpha: o.Alpha, Epsilon: rounding.ProductUp(steps, o.Epsilon)}
	}
	return bound
}

func (renyiSteps) name() stored.Kind { return "odometer.RenyiTracker" }

func (renyiSteps) filter(step loss.RDP) (filter.Filter[loss.RDP], error) {
	return filter.NewRenyiOrders(step)
}

func (renyiSteps) layout(c *stored.Codec, step *loss.RDP) {
	n := len(*step)
	c.Parameters.Length(&n, 16)
	if c.Reading() {
		*step = make(loss.RDP, n)
	}
	for i := range *step {
		c.Parameters.Float(&(*step)[i].Alpha)
		c.Parameters.Float(&(*step)[i].Epsilon)
	}
}

// ZCDPTracker is the Tracker of zero-concentrated differential privacy.
type ZCDPTracker struct {
	steps[loss.ZCDP, float64, zcdpSteps]
}

type zcdpSteps struct{}

var _ Odometer[loss.ZCDP, loss.ZCDP] = ZCDPTracker{}

// NewZCDPTracker returns a tracker whose filters have the budget rho, 2^-80 ≤ rho <
// 2^48, and no δ. The error is a *units.RangeError.
func NewZCDPTracker(rho float64) (ZCDPTracker, error) {
	t, err := newSteps[loss.ZCDP, float64, zcdpSteps](rho)
	return ZCDPTracker{t}, err
}

// Bound returns m·ρ, m being Steps.
func (t ZCDPTracker) Bound() loss.ZCDP {
	return loss.ZCDP{Rho: rounding.ProductUp(rounding.IntegerUp(t.Steps()), t.ledger().step)}
}

func (zcdpSteps) name() stored.Kind { return "odometer.ZCDPTracker" }

func (zcdpSteps) filter(rho float64) (filter.Filter[loss.ZCDP], error) {
	return filter.NewApproxZCDP(rho, 0)
}

func (zcdpSteps) layout(c *stored.Codec, rho *float64) { c.Parameters.Float(rho) }

// GDPTracker is the Tracker of Gaussian differential privacy (Koskela, Tobaben and
// Honkela, Appendix C.5).
type GDPTracker struct {
	steps[loss.GDP, float64, gdpSteps]
}

type gdpSteps struct{}

var _ Odometer[loss.GDP, loss.GDP] = GDPTracker{}

// NewGDPTracker returns a tracker whose filters have the budget mu, 2^-40 ≤ mu <
// 2^24. The error is a *units.RangeError.
func NewGDPTracker(mu float64) (GDPTracker, error) {
	t, err := newSteps[loss.GDP, float64, gdpSteps](mu)
	return GDPTracker{t}, err
}

// Bound returns μ·√m, m being Steps.
func (t GDPTracker) Bound() loss.GDP {
	return loss.GDP{Mu: rounding.ProductUp(rounding.RootUp(rounding.IntegerUp(t.Steps())), t.ledger().step)}
}

func (gdpSteps) name() stored.Kind                                  { return "odometer.GDPTracker" }
func (gdpSteps) filter(mu float64) (filter.Filter[loss.GDP], error) { return filter.NewGDP(mu) }
func (gdpSteps) layout(c *stored.Codec, mu *float64)                { c.Parameters.Float(mu) }
