package odometer

import (
	"math"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// Renyi is an odometer for mechanisms with Rényi differential privacy, subsampled
// ones included. With k orders fixed in advance the realised loss is at most
//
//	min over the orders α of Σρ_α + ln(k/δ)/(α − 1)
//
// at all moments at once, but for a probability of δ: for one order and Σρ_α the
// sum of the divergences, e^((α−1)(L − Σρ_α)) is a supermartingale (Feldman and
// Zrnic, proof of Theorem 3.1, in the direction of P), to which Ville's inequality
// applies; k orders share δ equally.
//
// Losses are charged as in RenyiTotal.
//
// Not safe for concurrent use.
type Renyi struct {
	odometerOf[loss.RDP, loss.Approx, renyi, *renyi]
}

type renyi struct {
	delta   float64
	logTerm float64 // ln(k/δ)
	renyiTotal
}

var _ Odometer[loss.RDP, loss.Approx] = (*Renyi)(nil)

// NewRenyi returns an odometer whose claims hold but for a probability of delta,
// 1e-300 ≤ delta < 1, over the orders given, above 1, finite and rising. The error
// is a *units.RangeError. The slice is not kept.
func NewRenyi(delta float64, orders []float64) (*Renyi, error) {
	if err := budgets.CheckDelta(delta); err != nil {
		return nil, err
	}
	sums, err := NewRenyiTotal(orders)
	if err != nil {
		return nil, err
	}
	return &Renyi{newOdometer[loss.RDP, loss.Approx](renyi{delta, math.Log(float64(len(orders))) - math.Log(delta), *sums.ledger()})}, nil
}

// Spent returns the sum of the divergences at each order, rounded up: the sums, not a claim.
func (r *Renyi) Spent() loss.RDP { return r.ledger().renyiTotal.bound() }

func (r *renyi) bound() loss.Approx {
	least := math.Inf(1)
	for i, alpha := range r.orders {
		sum := r.sums[i]
		if sum.IsZero() {
			return loss.Approx{Delta: r.delta}
		}
		least = math.Min(least, enlarged(total(sum)+r.logTerm/(alpha-1)))
	}
	return loss.Approx{Epsilon: least, Delta: r.delta}
}

func (*renyi) Kind() stored.Kind { return "odometer.Renyi" }

func (r *renyi) Layout(c *stored.Codec) {
	c.Parameters.Float(&r.delta)
	r.renyiTotal.Layout(c)
	sums := r.renyiTotal
	made(c, r)(NewRenyi(r.delta, r.orders))
	r.renyiTotal = sums
}
