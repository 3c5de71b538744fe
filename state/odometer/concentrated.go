package odometer

import (
	"math"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Concentrated is an odometer for mechanisms with zCDP, and so for Gaussian and
// Brownian ones, a μ counting as ρ = μ²/2. With R = Σρ and a parameter q the
// realised loss is at most
//
//	R + √(2(2R + q)·ln((1/δ)·√((2R + q)/q)))
//
// at all moments at once, but for a probability of δ: the mixture odometer of
// Whitehouse, Ramdas, Rogers and Wu ("Fully-adaptive composition in differential
// privacy", 2023), for zCDP. It spends δ once, where a Mixture for every mechanism
// spends it every time, and grows like √R. Every ρ is fixed before its mechanism
// runs, from what was released before; a Brownian mechanism is recorded rung by
// rung, each with the precision that it adds: c²(u_k − u_(k−1))/2.
//
// Proof. With L the realised loss, e^(θ(L − R) − θ²R) is a supermartingale for
// every θ > 0, as the Rényi divergence of order 1 + θ of a mechanism is at most
// (1 + θ)ρ. Mixing θ with the density of |N(0, 1/q)| and bounding its Φ(x) from
// below by 1/2 for x ≥ 0 gives √(q/(2R + q))·e^((L − R)²/(2(2R + q))) as a lower bound
// of a supermartingale that begins at 1; Ville's inequality does the rest.
//
// A loss with a δ is a *units.RangeError.
//
// Not safe for concurrent use.
type Concentrated struct {
	odometerOf[loss.ZCDP, loss.Approx, concentrated, *concentrated]
}

type concentrated struct {
	delta   float64
	q       float64
	logTerm float64 // ln(1/δ)
	rho     fixed.Amount
}

var _ Odometer[loss.ZCDP, loss.Approx] = (*Concentrated)(nil)

// NewConcentrated returns an odometer whose claims hold but for a probability of
// delta, 1e-300 ≤ delta < 1. They are least where Σρ is near rho, between 2^-40
// and 2^40, and valid everywhere. The error is a *units.RangeError.
func NewConcentrated(delta, rho float64) (*Concentrated, error) {
	if err := budgets.CheckDelta(delta); err != nil {
		return nil, err
	}
	if !(rho >= 0x1p-40 && rho <= 0x1p40) {
		return nil, &units.RangeError{Parameter: "rho", Value: rho, Range: "between 2^-40 and 2^40"}
	}
	return newConcentrated(delta, bestMixture(delta, 2*rho))
}

// Spent returns Σρ of what was recorded, rounded up: the sum, not a claim. +Inf where it
// no longer fits.
func (c *Concentrated) Spent() loss.ZCDP { return loss.ZCDP{Rho: total(c.ledger().rho)} }

// newConcentrated takes q instead of the ρ where claims are least: any q is valid. NewConcentrated
// has q from 2^-60 to 2^80.
func newConcentrated(delta, q float64) (*Concentrated, error) {
	if err := budgets.CheckDelta(delta); err != nil {
		return nil, err
	}
	if !(q >= 0x1p-60 && q <= 0x1p80) {
		return nil, &units.RangeError{Parameter: "q", Value: q, Range: "between 2^-60 and 2^80"}
	}
	return &Concentrated{newOdometer[loss.ZCDP, loss.Approx](concentrated{delta: delta, q: q, logTerm: -math.Log(delta)})}, nil
}

func (c *concentrated) record(l loss.ZCDP) error {
	if l.Delta != 0 {
		return &units.RangeError{Parameter: "delta", Value: l.Delta, Range: "0 for this odometer"}
	}
	c.rho = c.rho.Plus(fixed.Up(l.Rho))
	return nil
}

func (c *concentrated) bound() loss.Approx {
	if c.rho.IsZero() {
		return loss.Approx{Delta: c.delta}
	}
	rho := total(c.rho)
	if math.IsInf(rho, 1) {
		return loss.Approx{Epsilon: rho, Delta: c.delta}
	}
	return loss.Approx{Epsilon: enlarged(rho + mixtureHeight(2*rho, c.q, c.logTerm)), Delta: c.delta}
}

func (*concentrated) Kind() stored.Kind { return "odometer.Concentrated" }

func (c *concentrated) Layout(codec *stored.Codec) {
	codec.Parameters.Float(&c.delta)
	codec.Parameters.Float(&c.q)
	made(codec, c)(newConcentrated(c.delta, c.q))
	codec.Progress.Amount(&c.rho)
}
