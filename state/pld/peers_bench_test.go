package pld_test

import (
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/pld"
)

type run struct {
	pair  pld.Pair
	count int
}

// BenchmarkAccounting is what internal/testing/peers/accounting.py asks dp_accounting, too: from
// the mechanisms to the ε at δ = 1e-6, with nothing kept from the time before.
func BenchmarkAccounting(b *testing.B) {
	var gaussians, samples []run
	for i := range 40 {
		gaussians = append(gaussians, run{pld.Gaussian{Sigma: 20 + float64(i)}, 1})
	}
	for i := range 20 {
		samples = append(samples, run{pld.Sampled{Pair: pld.Gaussian{Sigma: 1 + float64(i)/10}, Sampling: 0.01}, 50})
	}
	for _, c := range []struct {
		name string
		list []run
	}{
		{"gaussian_1000", []run{{pld.Gaussian{Sigma: 40}, 1000}}},
		{"sampled_15000", []run{{pld.Sampled{Pair: pld.Gaussian{Sigma: 1}, Sampling: 0.002}, 15000}}},
		{"gaussians_40", gaussians},
		{"sampled_20x50", samples},
	} {
		b.Run(c.name, func(b *testing.B) {
			epsilon := 0.0
			for b.Loop() {
				var parts []*pld.Distribution
				for _, m := range c.list {
					one := must.Have(pld.New(m.pair, pld.Options{MinDelta: 1e-12}))
					parts = append(parts, must.Have(one.Power(m.count)))
				}
				epsilon = must.Have(must.Have(parts[0].Compose(parts[1:]...)).EpsilonAt(1e-6))
			}
			b.ReportMetric(epsilon, "epsilon")
		})
	}
}
