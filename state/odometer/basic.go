package odometer

import (
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// Basic adds up ε and δ (Rogers et al., 2016, Theorem 3.3): as long as Σδ is at
// most the δ of the odometer, the realised loss is at most Σε, and −Σε from
// below, but for a probability of δ.
//
// Each loss (ε, δ) that is recorded must hold point by point: but for a
// probability of δ, under either of the two inputs, the realised loss of that
// mechanism given everything before lies within ±ε. Every (ε, 0)-private mechanism
// has that property; one that is (ε, δ)-private with δ > 0 need not, see PointWise.
//
// δ must be fixed before the mechanism runs. ε may be known only afterwards: what
// Linear and Mixture say of a stopped Brownian mechanism, or any other ex-post
// loss, may be recorded, and the sum is then a bound from above in the sense of
// Lemma 5.1 of Rogers et al. (2023).
//
// Epsilon of the bound is +Inf once Σδ exceeds the δ of the odometer, and stays so.
//
// Not safe for concurrent use.
type Basic struct {
	odometerOf[loss.Approx, loss.Approx, basic, *basic]
}

type basic struct {
	delta       float64
	limit       fixed.Amount
	loss, taken fixed.Amount
}

var _ Odometer[loss.Approx, loss.Approx] = (*Basic)(nil)

// NewBasic returns an odometer whose claims hold but for a probability of delta,
// 0 ≤ delta < 1, kept in units of 2^-208 rounded down. The error is a
// *units.RangeError.
func NewBasic(delta float64) (*Basic, error) {
	if err := (loss.Approx{Delta: delta}).Validate(); err != nil {
		return nil, fmt.Errorf("making a basic odometer: %w", err)
	}
	return &Basic{newOdometer[loss.Approx, loss.Approx](basic{delta: delta, limit: fixed.Down(delta)})}, nil
}

// Spent returns Σε and Σδ of what was recorded, rounded up: the sums, not a claim. +Inf
// where a sum no longer fits.
func (b *Basic) Spent() loss.Approx {
	own := b.ledger()
	return loss.Approx{Epsilon: total(own.loss), Delta: total(own.taken)}
}

func (b *basic) record(l loss.Approx) error {
	b.loss = b.loss.Plus(fixed.Up(l.Epsilon))
	b.taken = b.taken.Plus(fixed.Up(l.Delta))
	return nil
}

func (b *basic) bound() loss.Approx {
	if b.taken.Cmp(b.limit) > 0 {
		return loss.Approx{Epsilon: math.Inf(1), Delta: b.delta}
	}
	return loss.Approx{Epsilon: total(b.loss), Delta: b.delta}
}

func (*basic) Kind() stored.Kind { return "odometer.Basic" }

func (b *basic) Layout(c *stored.Codec) {
	c.Parameters.Float(&b.delta)
	made(c, b)(NewBasic(b.delta))
	c.Progress.Amount(&b.loss)
	c.Progress.Amount(&b.taken)
}
