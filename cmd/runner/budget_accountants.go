package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/internal/directed"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// question asks for the ε at a δ, or for the δ at an ε.
type question struct {
	forDelta bool // epsilon is given
	epsilon  float64
	delta    float64
}

// with is the question's two numbers, the answer filled in.
func (q question) with(answer float64) (epsilon, delta float64) {
	if q.forDelta {
		return q.epsilon, answer
	}
	return answer, q.delta
}

// silent is the error of an accountant that has nothing to say about mechanisms
// or a question: others may have.
type silent struct{ reason string }

func (s *silent) Error() string { return s.reason }

func silence(format string, args ...any) error { return &silent{fmt.Sprintf(format, args...)} }

// bookkeeper is a way of composing mechanisms. Its answer is rounded up; the
// error is silent where it does not apply, and a *state.RangeError where a
// sum is out of range.
type bookkeeper struct {
	name   string
	answer func([]mechanism, question) (float64, error)
}

// bookkeepers are all of them, by falling tightness where they apply alike.
func bookkeepers() []bookkeeper {
	return []bookkeeper{
		{"gdp", byGDP}, {"pld", byPLD}, {"rdp", byRDP}, {"zcdp", byZCDP}, {"advanced", byAdvanced}, {"basic", byBasic},
	}
}

// tightest is the accountant for mechanisms where none was asked for.
func tightest(list []mechanism) string {
	for _, m := range list {
		if m.mu == 0 {
			return "pld"
		}
	}
	return "gdp"
}

// byGDP adds squares of μ: exact for Gaussian noise. Pure mechanisms are
// Gaussian with the least μ that covers every ε-DP mechanism.
func byGDP(list []mechanism, q question) (float64, error) {
	var squares total
	for _, m := range list {
		mu := m.mu
		switch {
		case m.sampled():
			return 0, silence("on a Poisson sample the least μ is that of all data: leave sampling out, or use pld")
		case m.approximate():
			return 0, silence("an eps-delta mechanism with a delta above 0 is not μ-GDP for any μ")
		case m.fixed != nil:
			g, err := conversion.PureToGDP(m.fixed.Epsilon)
			if err != nil {
				return 0, err
			}
			mu = g.Mu
		case mu == 0:
			return 0, silence("no μ is known for discrete-gaussian")
		}
		squares.add(directed.ProductUp(mu, mu), m.count)
	}
	g := loss.GDP{Mu: directed.RootUp(squares.value())}
	if q.forDelta {
		return conversion.GDPToDelta(g, q.epsilon)
	}
	return conversion.GDPToEpsilon(g, q.delta)
}

// rho is the ρ of a mechanism of Gaussian noise, continuous or discrete.
func (m mechanism) rho() (float64, bool) {
	if m.mu > 0 {
		return directed.ProductUp(m.mu, m.mu) / 2, true
	}
	if g, ok := m.pair.(pld.DiscreteGaussian); ok {
		// Canonne, Kamath and Steinke, 2020, Theorem 4.
		mu := directed.QuotientUp(float64(g.Sensitivity), g.Sigma)
		return directed.ProductUp(mu, mu) / 2, true
	}
	return 0, false
}

// byZCDP adds ρ, and δ where zCDP is approximate.
func byZCDP(list []mechanism, q question) (float64, error) {
	var rho, delta total
	for _, m := range list {
		r, ok := m.rho()
		if ok {
			rho.add(r, m.count)
			continue
		}
		if m.sampled() {
			return 0, silence("on a Poisson sample the least ρ is that of all data: leave sampling out, or use pld")
		}
		z, err := conversion.ApproxToZCDP(*m.fixed)
		if err != nil {
			return 0, err
		}
		rho.add(z.Rho, m.count)
		delta.add(z.Delta, m.count)
	}
	z := loss.ZCDP{Rho: rho.value(), Delta: delta.value()}
	if z.Delta >= 1 {
		return 0, silence("the deltas of eps-delta mechanisms add up to 1 or more")
	}
	if q.forDelta {
		return conversion.ApproxZCDPToDelta(z, q.epsilon)
	}
	if z.Delta > 0 && q.delta <= z.Delta {
		return 0, silence("the deltas of eps-delta mechanisms add up to %v, which is not below delta", z.Delta)
	}
	return conversion.ApproxZCDPToEpsilon(z, q.delta)
}

// orders are those at which byRDP adds divergences: 1 + 2^(k/16).
func orders() []float64 {
	var list []float64
	for k := -160; k <= 400; k++ {
		list = append(list, 1+math.Exp2(float64(k)/16))
	}
	return list
}

// byRDP adds Rényi divergences at many orders; the best one answers.
func byRDP(list []mechanism, q question) (float64, error) {
	at := orders()
	sums := make([]total, len(at))
	for _, m := range list {
		var (
			curve loss.RDP
			err   error
		)
		r, ok := m.rho()
		switch {
		case ok:
			curve, err = conversion.ZCDPToRDP(loss.ZCDP{Rho: r}, at)
		case m.sampled():
			g, _ := m.pair.(pld.SubsampledGaussian)
			curve, err = conversion.SampledGaussianToRDP(g.Sigma, g.Sampling, at)
		case m.approximate():
			return 0, silence("an eps-delta mechanism with a delta above 0 has no Rényi divergence")
		default:
			curve, err = conversion.PureToRDP(m.fixed.Epsilon, at)
		}
		if err != nil {
			return 0, err
		}
		for i := range sums {
			sums[i].add(curve[i].Epsilon, m.count)
		}
	}
	curve := make(loss.RDP, len(at))
	for i := range sums {
		curve[i] = loss.Order{Alpha: at[i], Epsilon: sums[i].value()}
	}
	if q.forDelta {
		return conversion.RDPToDelta(curve, q.epsilon)
	}
	return conversion.RDPToEpsilon(curve, q.delta)
}

// byPLD convolves privacy loss distributions, on coarser and coarser grids as
// long as they do not fit into memory.
func byPLD(list []mechanism, q question) (float64, error) {
	o := pld.Options{}
	if !q.forDelta && q.delta < 1e-14 {
		o.MinDelta = max(q.delta*1e-6, 1e-280)
	}
	answer, err := onGrids(list, q, o)
	if q.forDelta && err == nil && answer < 1e-14 {
		o.MinDelta = 1e-120
		if finer, err := onGrids(list, q, o); err == nil {
			answer = min(answer, finer)
		}
	}
	var floor *pld.FloorError
	if errors.As(err, &floor) || err == nil && math.IsInf(answer, 1) {
		return 0, silence("an unbounded loss has a probability above delta, or one that cannot be told from it")
	}
	var size *pld.SizeError
	if errors.As(err, &size) {
		return 0, silence("the losses spread too far for any grid")
	}
	return answer, err
}

func onGrids(list []mechanism, q question, o pld.Options) (answer float64, err error) {
	for {
		answer, err = convolve(list, q, o)
		var size *pld.SizeError
		if !errors.As(err, &size) || size.Interval >= pld.MaxInterval {
			return answer, err
		}
		o.Interval = min(4*size.Interval, pld.MaxInterval)
	}
}

func convolve(list []mechanism, q question, o pld.Options) (float64, error) {
	var parts []*pld.Distribution
	for _, m := range list {
		one, err := pld.New(m.pair, o)
		if err != nil {
			return 0, err
		}
		all, err := one.Power(m.count)
		if err != nil {
			return 0, err
		}
		parts = append(parts, all)
	}
	all, err := parts[0].Compose(parts[1:]...)
	if err != nil {
		return 0, err
	}
	if q.forDelta {
		return all.DeltaAt(q.epsilon)
	}
	return all.EpsilonAt(q.delta)
}
