package compose

import (
	"math"

	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// maxCharges limits byAdvanced, which charges mechanisms one by one, about fifty times.
const maxCharges = 100_000

// priced represents count mechanisms, each of which is (ε, δ)-DP.
type priced struct {
	loss.Approx
	count int
}

// curves holds the functions from δ to ε of a list's mechanisms, computed only once.
type curves struct {
	list      []Mechanism
	epsilonAt []func(delta float64) (float64, error) // nil for a fixed (ε, δ)
	fixed     float64                                // sum of δ over the mechanisms with a fixed (ε, δ)
	free      int                                    // number of mechanisms whose δ can be chosen
}

func newCurves(list []Mechanism) (*curves, error) {
	c := &curves{list: list, epsilonAt: make([]func(float64) (float64, error), len(list))}
	for i, m := range list {
		switch {
		case m.fixed != nil:
			c.fixed = plus(c.fixed, m.fixed.Delta, m.count)
			continue
		case m.mu > 0:
			c.epsilonAt[i] = func(delta float64) (float64, error) {
				return conversion.GDPToEpsilon(loss.GDP{Mu: m.mu}, delta)
			}
		case m.concentrated > 0:
			c.epsilonAt[i] = func(delta float64) (float64, error) {
				return conversion.ApproxZCDPToEpsilon(loss.ZCDP{Rho: m.concentrated}, delta)
			}
		default:
			distribution, err := pld.New(m.pair, pld.Options{MinDelta: 1e-30})
			if err != nil {
				return nil, err
			}
			c.epsilonAt[i] = distribution.EpsilonAt
		}
		c.free += m.count
	}
	return c, nil
}

// prices returns an (ε, δ) for each mechanism, with a total δ of at most delta. Mechanisms whose δ
// can be chosen get equal shares. The error is a *NotApplicableError.
func (c *curves) prices(delta float64) ([]priced, error) {
	if c.fixed > delta {
		return nil, notApplicable("the deltas of eps-delta mechanisms add up to %v", c.fixed)
	}
	// 2^-40 of the rest covers the rounding of the sum.
	share := (delta - c.fixed) * (1 - 0x1p-40) / float64(max(c.free, 1))
	if c.free > 0 && share < 2*budgets.MinDelta {
		return nil, notApplicable("no delta is left for the mechanisms that need a share of it")
	}
	list := make([]priced, len(c.list))
	for i, m := range c.list {
		list[i].count = m.count
		if m.fixed != nil {
			list[i].Approx = *m.fixed
			continue
		}
		epsilon, err := c.epsilonAt[i](share)
		if err != nil || math.IsInf(epsilon, 1) {
			return nil, notApplicable("%s has no finite epsilon at its share of delta, %v", m.name, share)
		}
		list[i].Approx = loss.Approx{Epsilon: epsilon, Delta: share}
	}
	return list, nil
}

// byBasic adds up values of ε and δ (Dwork and Roth, 2014, Theorem 3.16).
func byBasic(list []Mechanism, q Question) (float64, error) {
	c, err := newCurves(list)
	if err != nil {
		return 0, err
	}
	sum := func(delta float64) (float64, error) {
		prices, err := c.prices(delta)
		if err != nil {
			return 0, err
		}
		epsilon := 0.0
		for _, p := range prices {
			epsilon = plus(epsilon, p.Epsilon, p.count)
		}
		return epsilon, nil
	}
	if !q.forDelta {
		return sum(q.delta)
	}
	within := func(delta float64) bool {
		epsilon, err := sum(delta)
		return err == nil && epsilon <= q.epsilon
	}
	if c.free == 0 && c.fixed < 1 && within(c.fixed) {
		return c.fixed, nil
	}
	return least(within, budgets.MinDelta, 1-0x1p-20, "the epsilons add up to more than epsilon at every delta")
}

// byAdvanced finds the smallest budget with which the filter of Rogers et al. (2016, Theorem 5.1)
// accepts all mechanisms.
func byAdvanced(list []Mechanism, q Question) (float64, error) {
	count := 0
	for _, m := range list {
		count += m.count
	}
	if count > maxCharges {
		return 0, notApplicable("the filter checks mechanisms one by one, at most %d", maxCharges)
	}
	c, err := newCurves(list)
	if err != nil {
		return 0, err
	}
	if !q.forDelta {
		if q.delta >= 1/math.E {
			return 0, notApplicable("the theorem requires a delta below 1/e")
		}
		prices, err := c.prices(q.delta / 2)
		if err != nil {
			return 0, err
		}
		within := func(epsilon float64) bool { return accepts(loss.Approx{Epsilon: epsilon, Delta: q.delta}, prices) }
		return least(within, 1e-12, budgets.MaxEpsilon, "the filter does not accept them with any budget")
	}
	return least(func(delta float64) bool {
		prices, err := c.prices(delta / 2)
		return err == nil && accepts(loss.Approx{Epsilon: q.epsilon, Delta: delta}, prices)
	}, budgets.MinDelta, 0.3678, "the filter does not accept them with any delta below 1/e")
}

// accepts reports whether an advanced filter with the given budget accepts all mechanisms.
func accepts(budget loss.Approx, list []priced) bool {
	f, err := accounting.NewAdvanced(budget)
	if err != nil {
		return false
	}
	for _, p := range list {
		for range p.count {
			if f.Spend(p.Approx) != nil {
				return false
			}
		}
	}
	return true
}

// least returns the least number between low and high for which a condition holds. The condition
// must hold for all greater numbers. The result is above the exact number by at most a relative
// 1e-10. If the condition does not hold at high, the error is a *NotApplicableError with that text.
func least(holds func(float64) bool, low, high float64, otherwise string) (float64, error) {
	if !holds(high) {
		return 0, notApplicable("%s", otherwise)
	}
	if holds(low) {
		return low, nil
	}
	for high > low*(1+1e-10) {
		// The geometric mean, in a form that does not overflow.
		middle := math.Sqrt(low) * math.Sqrt(high)
		if middle <= low || middle >= high {
			break
		}
		if holds(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}
