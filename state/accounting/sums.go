package accounting

import (
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// sums defines how losses of one type add up, in filters and odometers.
type sums[L any] struct {
	// price sets the amounts that a loss adds, rounded up. The error is a *units.RangeError.
	price func(l L, prices []fixed.Amount) error
	// loss converts sums into one loss. A slice in the result is not shared.
	loss func(sums []fixed.Amount, r direction) L
}

// direction is the direction in which a sum is rounded to a float64.
type direction bool

const down, up = direction(false), direction(true)

// float returns a as a float64. It returns +Inf if a is the maximum, which stands for a sum that is
// too large, and is rounded up.
func (r direction) float(a fixed.Amount) float64 {
	switch {
	case r == down:
		return a.FloatDown()
	case a == fixed.Max:
		return math.Inf(1)
	}
	return a.FloatUp()
}

// root returns √a, or +Inf under the same conditions as float.
func (r direction) root(a fixed.Amount) float64 {
	switch {
	case r == down:
		return a.Root()
	case a == fixed.Max:
		return math.Inf(1)
	}
	return a.RootUp()
}

// approxSums are the sums Σε and Σδ.
var approxSums = sums[loss.Approx]{
	price: func(l loss.Approx, prices []fixed.Amount) error {
		prices[0], prices[1] = fixed.Up(l.Epsilon), fixed.Up(l.Delta)
		return l.Validate()
	},
	loss: func(s []fixed.Amount, r direction) loss.Approx {
		return loss.Approx{Epsilon: r.float(s[0]), Delta: r.float(s[1])}
	},
}

// zcdpSums are the sums Σρ and Σδ.
var zcdpSums = sums[loss.ZCDP]{
	price: func(l loss.ZCDP, prices []fixed.Amount) error {
		prices[0], prices[1] = fixed.Up(l.Rho), fixed.Up(l.Delta)
		return l.Validate()
	},
	loss: func(s []fixed.Amount, r direction) loss.ZCDP {
		return loss.ZCDP{Rho: r.float(s[0]), Delta: r.float(s[1])}
	},
}

// plainZCDPSums is the sum Σρ. A loss with a δ is rejected.
var plainZCDPSums = sums[loss.ZCDP]{
	price: func(l loss.ZCDP, prices []fixed.Amount) error {
		if err := l.Validate(); err != nil {
			return err
		}
		prices[0] = fixed.Up(l.Rho)
		return units.Require(l.Delta == 0, "delta", l.Delta, "0 for plain zCDP")
	},
	loss: func(s []fixed.Amount, r direction) loss.ZCDP { return loss.ZCDP{Rho: r.float(s[0])} },
}

// gaussianSums is the sum Σμ².
var gaussianSums = sums[loss.GDP]{
	price: func(l loss.GDP, prices []fixed.Amount) error {
		prices[0] = fixed.SquareUp(l.Mu)
		return l.Validate()
	},
	loss: func(s []fixed.Amount, r direction) loss.GDP { return loss.GDP{Mu: r.root(s[0])} },
}

// renyiSums are the sums of the divergences at each order. The charge at an order is the loss's
// value at the smallest of its own orders that is not lower. This is an upper bound, because the
// Rényi divergence never decreases with the order.
func renyiSums(orders []float64) sums[loss.RDP] {
	highest := orders[len(orders)-1]
	return sums[loss.RDP]{
		price: func(l loss.RDP, prices []fixed.Amount) error {
			if err := l.Validate(); err != nil {
				return err
			}
			if last := l[len(l)-1].Alpha; last < highest {
				return &units.RangeError{Parameter: "alpha", Value: last,
					Range: fmt.Sprintf("at least %v, for one of the orders", highest)}
			}
			next := 0
			for i, alpha := range orders {
				for l[next].Alpha < alpha {
					next++
				}
				prices[i] = fixed.Up(l[next].Epsilon)
			}
			return nil
		},
		loss: func(s []fixed.Amount, r direction) loss.RDP {
			curve := make(loss.RDP, len(orders))
			for i, alpha := range orders {
				curve[i] = loss.Order{Alpha: alpha, Epsilon: r.float(s[i])}
			}
			return curve
		},
	}
}
