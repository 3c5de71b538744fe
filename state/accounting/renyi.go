package accounting

import (
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// NewRenyi returns the Rényi filter: divergences add up at every order of the budget, and the sum
// at every order must stay within the budget (Feldman and Zrnic, Theorem 4.3 for one order, Remark
// 4.4 for several). Everything accepted together is (α, B_α)-RDP at every order α of the budget.
// The error is a *units.RangeError unless every Epsilon is at least 2^-80 and below 2^48. The slice
// is not retained.
//
// A filter that continued while any single order is within the budget would be invalid: the outputs
// would choose the order that is left at the end.
//
// At each order of the budget, the charge is the loss's value at the smallest of the loss's own
// orders that is not below that order. A loss without such an order gives a *units.RangeError.
func NewRenyi(budget loss.RDP) (*Filter[loss.RDP], error) {
	if err := budget.Validate(); err != nil {
		return nil, err
	}
	var orders []float64
	var limits []fixed.Amount
	for _, o := range budget {
		l, err := limit("epsilon", o.Epsilon)
		if err != nil {
			return nil, err
		}
		orders, limits = append(orders, o.Alpha), append(limits, l)
	}
	return newFilter("renyi", renyiSums(orders), limits, orders...), nil
}

// NewRenyiTotal returns an odometer whose bound is Σε_α over all recorded losses. The orders α are
// fixed in advance, finite, above 1 and increasing. For every budget that is fixed in advance, with
// a value at each order, all releases up to the last moment when all sums were within the budget
// are RDP with that budget (Feldman and Zrnic, Theorem 4.3 and Remark 4.4). Losses are charged as
// by NewRenyi. The error is a *units.RangeError.
func NewRenyiTotal(orders []float64) (*Odometer[loss.RDP, loss.RDP], error) {
	if err := checkOrders(orders); err != nil {
		return nil, err
	}
	orders = slices.Clone(orders)
	return newTotal("renyi total", renyiSums(orders), len(orders), orders...), nil
}

// NewRenyiOdometer returns an odometer for mechanisms with Rényi differential privacy, including
// subsampled ones. With k orders as in NewRenyiTotal, the realised loss is at most
//
//	min over the orders α of Σρ_α + ln(k/δ)/(α − 1)
//
// at all moments simultaneously, except with probability delta, 1e-300 ≤ delta < 1. Proof for one
// order, with Σρ_α the sum of the divergences: e^((α−1)(L − Σρ_α)) is a supermartingale (Feldman
// and Zrnic, proof of Theorem 3.1, in the direction of P), to which Ville's inequality applies. k
// orders share δ equally. Losses are charged as by NewRenyi. The error is a *units.RangeError.
func NewRenyiOdometer(delta float64, orders []float64) (*Odometer[loss.RDP, loss.Approx], error) {
	if err := budgets.CheckDelta(delta); err != nil {
		return nil, err
	}
	if err := checkOrders(orders); err != nil {
		return nil, err
	}
	orders = slices.Clone(orders)
	logTerm := math.Log(float64(len(orders))) - math.Log(delta) // ln(k/δ)
	return newOdometer("renyi odometer", renyiSums(orders), len(orders), func(recorded []fixed.Amount) loss.Approx {
		least := math.Inf(1)
		for i, alpha := range orders {
			if recorded[i].IsZero() {
				return loss.Approx{Delta: delta}
			}
			least = math.Min(least, enlarged(up.float(recorded[i])+logTerm/(alpha-1)))
		}
		return loss.Approx{Epsilon: least, Delta: delta}
	}, append([]float64{delta}, orders...)...), nil
}

func checkOrders(orders []float64) error {
	curve := make(loss.RDP, len(orders))
	for i, alpha := range orders {
		curve[i].Alpha = alpha
	}
	if err := curve.Validate(); err != nil {
		return fmt.Errorf("fixing the orders of an odometer: %w", err)
	}
	return nil
}
