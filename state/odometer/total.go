package odometer

//lint:file-ignore U1000 staticcheck 0.8.2 does not see that embedded types use their type arguments.

import (
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// GDPTotal is √Σμ² of everything recorded. For every B fixed in advance, what was
// released up to the last moment at which the total was at most B is B-GDP.
//
// That is the Gaussian filter of budget B (Koskela, Tobaben and Honkela, Theorem
// 11), read for all B at once: filters side by side instead of one after the other
// as in Tracker. The claim is of the same kind, and never larger. Not safe for
// concurrent use.
type GDPTotal struct {
	odometerOf[loss.GDP, loss.GDP, gdpTotal, *gdpTotal]
}

type gdpTotal struct{ squares fixed.Amount }

var _ Odometer[loss.GDP, loss.GDP] = (*GDPTotal)(nil)

// Spent returns what Bound does: here the sum is the claim.
func (t *GDPTotal) Spent() loss.GDP { return t.Bound() }

func (t *gdpTotal) record(l loss.GDP) error {
	t.squares = t.squares.Plus(fixed.SquareUp(l.Mu))
	return nil
}

// bound is +Inf once the sum reaches 2^48.
func (t *gdpTotal) bound() loss.GDP {
	if t.squares == fixed.Max {
		return loss.GDP{Mu: math.Inf(1)}
	}
	return loss.GDP{Mu: t.squares.RootUp()}
}

func (*gdpTotal) Kind() stored.Kind        { return "odometer.GDPTotal" }
func (t *gdpTotal) Layout(c *stored.Codec) { c.Progress.Amount(&t.squares) }

// ZCDPTotal is Σρ and Σδ of everything recorded: for every (ρ, δ) fixed in advance,
// what was released up to the last moment at which both were within it is
// δ-approximate ρ-zCDP (the approximate-zCDP filter, Rogers et al., 2023, Theorem
// 2, as a whole). A Delta of 1 or more and a Rho of +Inf promise nothing: Validate refuses them.
// Not safe for concurrent use.
type ZCDPTotal struct {
	odometerOf[loss.ZCDP, loss.ZCDP, zcdpTotal, *zcdpTotal]
}

type zcdpTotal struct{ rho, delta fixed.Amount }

var _ Odometer[loss.ZCDP, loss.ZCDP] = (*ZCDPTotal)(nil)

// Spent returns what Bound does: here the sum is the claim.
func (t *ZCDPTotal) Spent() loss.ZCDP { return t.Bound() }

func (t *zcdpTotal) record(l loss.ZCDP) error {
	t.rho = t.rho.Plus(fixed.Up(l.Rho))
	t.delta = t.delta.Plus(fixed.Up(l.Delta))
	return nil
}

func (t *zcdpTotal) bound() loss.ZCDP { return loss.ZCDP{Rho: total(t.rho), Delta: total(t.delta)} }

func (*zcdpTotal) Kind() stored.Kind { return "odometer.ZCDPTotal" }

func (t *zcdpTotal) Layout(c *stored.Codec) {
	c.Progress.Amount(&t.rho)
	c.Progress.Amount(&t.delta)
}

// RenyiTotal is Σε_α of everything recorded, at orders fixed in advance: for every
// budget at each order fixed in advance, what was released up to the last moment at
// which all sums were within it is RDP with that budget (Feldman and Zrnic, 2021,
// Theorem 4.3 and Remark 4.4).
//
// A loss is charged at each order what it states at its own least order of at
// least that, as in filter.RenyiOrders: Rényi divergence does not fall with the
// order.
//
// A sum that no longer fits is +Inf, and a loss without an order as high as the highest of the
// total a *units.RangeError.
//
// Not safe for concurrent use.
type RenyiTotal struct {
	odometerOf[loss.RDP, loss.RDP, renyiTotal, *renyiTotal]
}

type renyiTotal struct {
	orders []float64
	sums   []fixed.Amount
}

var _ Odometer[loss.RDP, loss.RDP] = (*RenyiTotal)(nil)

// NewRenyiTotal returns a total over the orders given, above 1, finite and rising.
// The error is a *units.RangeError. The slice is not kept.
func NewRenyiTotal(orders []float64) (*RenyiTotal, error) {
	curve := make(loss.RDP, len(orders))
	for i, alpha := range orders {
		curve[i].Alpha = alpha
	}
	if err := curve.Validate(); err != nil {
		return nil, fmt.Errorf("fixing the orders of an odometer: %w", err)
	}
	return &RenyiTotal{newOdometer[loss.RDP, loss.RDP](renyiTotal{append([]float64(nil), orders...), make([]fixed.Amount, len(orders))})}, nil
}

// Spent returns what Bound does: here the sum is the claim.
func (t *RenyiTotal) Spent() loss.RDP { return t.Bound() }

func (t *renyiTotal) record(l loss.RDP) error {
	highest := t.orders[len(t.orders)-1]
	if last := l[len(l)-1].Alpha; last < highest {
		return &units.RangeError{
			Parameter: "alpha", Value: last,
			Range: fmt.Sprintf("at least the highest order of the odometer (%v), for one of the orders", highest),
		}
	}
	next := 0
	for i, alpha := range t.orders {
		for l[next].Alpha < alpha {
			next++
		}
		t.sums[i] = t.sums[i].Plus(fixed.Up(l[next].Epsilon))
	}
	return nil
}

// bound returns a fresh slice.
func (t *renyiTotal) bound() loss.RDP {
	bound := make(loss.RDP, len(t.orders))
	for i, alpha := range t.orders {
		bound[i] = loss.Order{Alpha: alpha, Epsilon: total(t.sums[i])}
	}
	return bound
}

func (*renyiTotal) Kind() stored.Kind { return "odometer.RenyiTotal" }

func (t *renyiTotal) Layout(c *stored.Codec) {
	n := len(t.orders)
	c.Parameters.Length(&n, 8+fixed.Size)
	if c.Reading() {
		t.orders = make([]float64, n)
	}
	for i := range t.orders {
		c.Parameters.Float(&t.orders[i])
	}
	made(c, t)(NewRenyiTotal(t.orders))
	for i := range t.sums {
		c.Progress.Amount(&t.sums[i])
	}
}
