package conversion_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

func integers(from, to int) (orders []float64) {
	for a := from; a <= to; a++ {
		orders = append(orders, float64(a))
	}
	return orders
}

// Abadi et al., Deep learning with differential privacy, 2016, Section 5.1 (Figure 2):
// q = 0.01, σ = 4, δ = 1e-5 and 10,000 steps are ε = 1.26 by the moments accountant,
// which converts by ε = T·ε_α + ln(1/δ)/(α−1) at integer orders.
func TestPoissonSamplesHaveTheMomentsAccountantsEpsilon(t *testing.T) {
	curve := must.Have(conversion.SampledGaussianToRDP(4, 0.01, integers(2, 64)))
	best := math.Inf(1)
	var steps loss.RDP
	for _, o := range curve {
		best = min(best, 10_000*o.Epsilon+math.Log(1e5)/(o.Alpha-1))
		steps = append(steps, loss.Order{Alpha: o.Alpha, Epsilon: 10_000 * o.Epsilon})
	}
	if math.Abs(best-1.26) > 5e-3 {
		t.Errorf("ε = %v, want 1.26", best)
	}
	if tighter, err := conversion.RDPToEpsilon(steps, 1e-5); err != nil || !(tighter < best) {
		t.Errorf("by Lemma C.4 ε = %v (%v), want less than %v", tighter, err, best)
	}
}

// At order 2 the sum is 1 + q²(e^(1/σ²) − 1); with every individual in the sample the
// divergence is α/(2σ²); and it never falls with the order.
func TestPoissonSamplesHaveTheClosedForms(t *testing.T) {
	orders := []float64{1.001, 2, 2.5, 3, 17.2, 64, 511.5, 512}
	for _, sigma := range []float64{0.05, 0.5, 1, 4, 1000} {
		for _, q := range []float64{1e-9, 1e-3, 0.2, 0.999} {
			curve := must.Have(conversion.SampledGaussianToRDP(sigma, q, orders))
			want := math.Log1p(q * q * math.Expm1(1/(sigma*sigma)))
			if got := curve[1].Epsilon; !(got >= want*(1-1e-12)) || got > want*(1+1e-9)+1e-40 {
				t.Errorf("σ = %v, q = %v: at order 2 %v, want %v", sigma, q, got, want)
			}
			for i := range curve {
				if i > 0 && curve[i].Epsilon < curve[i-1].Epsilon {
					t.Errorf("σ = %v, q = %v: %v falls to %v at order %v", sigma, q, curve[i-1].Epsilon,
						curve[i].Epsilon, curve[i].Alpha)
				}
				if all := curve[i].Alpha / (2 * sigma * sigma); curve[i].Epsilon > math.Ceil(curve[i].Alpha)/
					(2*sigma*sigma)*(1+1e-12) {
					t.Errorf("σ = %v, q = %v: %v at order %v is above that of all data, %v", sigma, q, curve[i].Epsilon,
						curve[i].Alpha, all)
				}
			}
		}
		all, err := conversion.SampledGaussianToRDP(sigma, 1, []float64{2, 64})
		if err != nil || math.Abs(all[1].Epsilon/(32/(sigma*sigma))-1) > 1e-12 {
			t.Errorf("σ = %v with every individual: %v (%v)", sigma, all, err)
		}
	}
}

// ln Σ_k C(α,k)·(1−q)^(α−k)·q^k·e^(k(k−1)/(2σ²)) / (α−1) in Python with mpmath, 60 digits. Where
// σ is small the sum has an exponent that no number of package bigmath can have: that was a
// panic, and before it minutes of aligning numbers of very different size.
func TestPoissonSamplesHaveTheirDivergenceAtTheEnds(t *testing.T) {
	for _, c := range []struct {
		sigma, sampling float64
		alpha           int
		want            float64
	}{
		{0.003, 0.01, 154, 8555550.9202862176689},
		{0x1p-10, 0.25, 512, 268435454.61099273406},
		{0.05, 1e-9, 512, 102379.2361798267664},
		{0.1, 1e-18, 30, 1457.1242775787313967},
		{0.3, 0.999, 2, 11.109110140379517338},
		{30, 1e-6, 512, 2.8460268910388133612e-13},
		{1, 0.9999999999999999, 17, 8.499999999999999882},
		// By logarithms, which round up further.
		{2, 0.01, 513, 59.510835340992400662},
		{500, 0.005, 5000, 2.5002536846412492557e-7},
		{30, 1e-6, 2000, 1.1117310940780708108e-12},
	} {
		curve := must.Have(conversion.SampledGaussianToRDP(c.sigma, c.sampling, []float64{float64(c.alpha)}))
		if got := curve[0].Epsilon; !(got >= c.want && got <= c.want*(1+1e-15)) && !(c.alpha > 512 && got >= c.want &&
			got <= c.want*(1+1e-6)) {
			t.Errorf("%+v: %v", c, got)
		}
	}
	// The term of k = α alone, and all data, are bounds on either side.
	for _, sigma := range []float64{0x1p-20, 1e-4, 0.01, 0.2} {
		for _, q := range []float64{1e-300, 1e-12, 0.3, 1 - 0x1p-53} {
			curve := must.Have(conversion.SampledGaussianToRDP(sigma, q, []float64{2, 3, 100, 512}))
			for _, o := range curve {
				all := o.Alpha / 2 / sigma / sigma
				alone := all + o.Alpha*math.Log(q)/(o.Alpha-1)
				if !(o.Epsilon >= alone*(1-1e-12) && o.Epsilon <= all*(1+1e-12)) {
					t.Errorf("σ = %v, q = %v at order %v: %v is not between %v and %v", sigma, q, o.Alpha, o.Epsilon,
						alone, all)
				}
			}
		}
	}
}

// A divergence of 0 would promise (0, 0): one below the least float64 is rounded up.
func TestSmallestSamplesWithoutReplacementLoseSomething(t *testing.T) {
	for _, sampling := range []float64{1e-150, 1e-162, 1e-200, math.SmallestNonzeroFloat64} {
		r := must.Have(conversion.GaussianWithoutReplacementToRDP(1, sampling, []float64{2, 3, 64}))
		for _, o := range r {
			// One term is above q²; anything less is rounded up to the least float64.
			if least := sampling * sampling / (o.Alpha - 1); !(o.Epsilon > 0 && o.Epsilon >= least &&
				o.Epsilon < 1e-290) {
				t.Errorf("a part of %v, order %v: %v", sampling, o.Alpha, o.Epsilon)
			}
		}
		if delta, err := conversion.RDPToDelta(r, 0); err != nil || !(delta > 0) {
			t.Errorf("a part of %v: δ = %v at ε = 0 (%v)", sampling, delta, err)
		}
	}
}
