package compose

import (
	"cmp"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// byGDP adds up squares of μ (Dong, Roth and Su, 2022, Corollary 3.3), which is exact for Gaussian
// noise. Pure mechanisms count as Gaussian with the least μ that covers every ε-DP mechanism
// (conversion.PureToGDP), and the exponential mechanism has the μ of bounded range.
func byGDP(list []Mechanism, q Question) (float64, error) {
	squares := 0.0
	for _, m := range list {
		g, err := loss.GDP{Mu: m.mu}, error(nil)
		switch {
		case m.approximate():
			err = notApplicable("an eps-delta mechanism with a delta above 0 is not μ-GDP for any μ")
		case m.bounded > 0:
			g, err = conversion.BoundedRangeToGDP(m.bounded)
		case m.fixed != nil:
			g, err = conversion.PureToGDP(m.fixed.Epsilon)
		case m.sample() != "":
			err = notApplicable("on %s, μ is not below that for all data: leave sampling out, or use pld", m.sample())
		case m.mu == 0:
			err = notApplicable("no μ is known for %s", m.name)
		}
		if err != nil {
			return 0, err
		}
		squares = plus(squares, rounding.ProductUp(g.Mu, g.Mu), m.count)
	}
	g := loss.GDP{Mu: rounding.RootUp(squares)}
	if q.forDelta {
		return conversion.GDPToDelta(g, q.epsilon)
	}
	return conversion.GDPToEpsilon(g, q.delta)
}

// rho returns the ρ of a mechanism: μ²/2 for Gaussian noise, continuous or discrete (Bun and
// Steinke, 2016, Proposition 1.6), the ρ of bounded range for the exponential mechanism, or the ρ
// by which the mechanism is described. The bool is false if no ρ is known.
func (m Mechanism) rho() (float64, bool) {
	if m.concentrated > 0 {
		return m.concentrated, true
	}
	if m.bounded > 0 {
		z, err := conversion.BoundedRangeToZCDP(m.bounded)
		return z.Rho, err == nil
	}
	if m.mu > 0 {
		return rounding.ProductUp(m.mu, m.mu) / 2, true
	}
	if g, ok := m.pair.(pld.DiscreteGaussian); ok {
		// Canonne, Kamath and Steinke, 2020, Theorem 4.
		mu := rounding.QuotientUp(float64(g.Sensitivity), g.Sigma)
		return rounding.ProductUp(mu, mu) / 2, true
	}
	return 0, false
}

// byZCDP adds up ρ and, for approximate zCDP, δ (Bun and Steinke, 2016, Lemmas 2.3 and 8.2).
func byZCDP(list []Mechanism, q Question) (float64, error) {
	rho, delta := 0.0, 0.0
	for _, m := range list {
		r, ok := m.rho()
		if ok {
			rho = plus(rho, r, m.count)
			continue
		}
		if m.fixed == nil {
			return 0, notApplicable("on %s, ρ is not below that for all data: leave sampling out, or use pld",
				m.sample())
		}
		z, err := conversion.ApproxToZCDP(*m.fixed)
		if err != nil {
			return 0, err
		}
		rho, delta = plus(rho, z.Rho, m.count), plus(delta, z.Delta, m.count)
	}
	z := loss.ZCDP{Rho: rho, Delta: delta}
	if z.Delta >= 1 {
		return 0, notApplicable("the deltas of eps-delta mechanisms add up to 1 or more")
	}
	if q.forDelta {
		return conversion.ApproxZCDPToDelta(z, q.epsilon)
	}
	if z.Delta > 0 && q.delta <= z.Delta {
		return 0, notApplicable("the deltas of eps-delta mechanisms add up to %v, which is not below delta", z.Delta)
	}
	return conversion.ApproxZCDPToEpsilon(z, q.delta)
}

// orders returns the orders at which byRDP adds up divergences: 1 + 2^(k/16), and all integers up
// to 512. On a Poisson sample, other orders have the bound of the next integer.
func orders() []float64 {
	var list []float64
	for k := -160; k <= 400; k++ {
		list = append(list, 1+math.Exp2(float64(k)/16))
	}
	for alpha := 2.0; alpha <= 512; alpha++ {
		list = append(list, alpha)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// byRDP adds up Rényi divergences at many orders (Mironov, 2017, Proposition 1), and returns the
// best result. Without sampling, it first evaluates every sixteenth order, and then the orders
// around the best of these. This is valid because ε and δ are quasiconvex in t = α − 1: t·γ, a
// cumulant generating function, is convex, and (1+t)·ln(1+t) − t·ln t is concave.
func byRDP(list []Mechanism, q Question) (float64, error) {
	const stride = 16
	all := orders()
	if !slices.ContainsFunc(list, func(m Mechanism) bool { return m.fixed == nil && m.sample() != "" }) {
		var coarse []float64
		for i := 0; i < len(all); i += stride {
			coarse = append(coarse, all[i])
		}
		curve, err := divergences(list, coarse)
		if err != nil {
			return 0, err
		}
		low, high := 0, len(curve) // the best order is in curve[low:high]
		for high-low > 1 {
			middle := (low + high) / 2
			left, err1 := q.convert(curve[low:middle])
			right, err2 := q.convert(curve[middle:high])
			if err := cmp.Or(err1, err2); err != nil {
				return 0, err
			}
			if left <= right {
				high = middle
			} else {
				low = middle
			}
		}
		all = all[max(0, (low-1)*stride):min(len(all), high*stride+1)]
	}
	curve, err := divergences(list, all)
	if err != nil {
		return 0, err
	}
	return q.convert(curve)
}

// convert returns the result for a Rényi curve.
func (q Question) convert(curve loss.RDP) (float64, error) {
	if q.forDelta {
		return conversion.RDPToDelta(curve, q.epsilon)
	}
	return conversion.RDPToEpsilon(curve, q.delta)
}

// divergences returns the Rényi divergences of the composition of all mechanisms.
func divergences(list []Mechanism, alphas []float64) (loss.RDP, error) {
	curve := make(loss.RDP, len(alphas))
	for i, alpha := range alphas {
		curve[i].Alpha = alpha
	}
	for _, m := range list {
		var (
			one loss.RDP
			err error
		)
		r, ok := m.rho()
		switch {
		case m.bounded > 0:
			one, err = conversion.BoundedRangeToRDP(m.bounded, alphas)
		case ok:
			one, err = conversion.ZCDPToRDP(loss.ZCDP{Rho: r}, alphas)
		case m.approximate():
			return nil, notApplicable("an eps-delta mechanism with a delta above 0 has no Rényi divergence")
		case m.fixed != nil:
			one, err = conversion.PureToRDP(m.fixed.Epsilon, alphas)
		default:
			one, err = m.sampledRDP(alphas)
		}
		if err != nil {
			return nil, err
		}
		for i := range curve {
			curve[i].Epsilon = plus(curve[i].Epsilon, one[i].Epsilon, m.count)
		}
	}
	return curve, nil
}

func (m Mechanism) sampledRDP(orders []float64) (loss.RDP, error) {
	switch p := m.pair.(type) {
	case pld.SubsampledGaussian:
		return conversion.SampledGaussianToRDP(p.Sigma, p.Sampling, orders)
	case pld.WithoutReplacement:
		if g, ok := p.Pair.(pld.Gaussian); ok {
			return conversion.GaussianWithoutReplacementToRDP(g.Sigma, p.Sampling, orders)
		}
	}
	return nil, notApplicable("no Rényi divergences are known for %s on %s: use pld", m.name, m.sample())
}
