package pld_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/state/pld"
)

func BenchmarkNew(b *testing.B) {
	for name, pair := range map[string]pld.Pair{
		"gaussian":   pld.Gaussian{Sigma: 1},
		"subsampled": pld.SubsampledGaussian{Sigma: 1, Sampling: 0.01},
		"laplace":    pld.Laplace{Scale: 1},
		"discrete":   pld.DiscreteGaussian{Sigma: 100, Sensitivity: 100},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := pld.New(pair, pld.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Composing is one transform per distinct mechanism, whatever the count.
func BenchmarkCompose(b *testing.B) {
	for _, c := range []struct {
		name string
		pair pld.Pair
		n    int
	}{
		{"10 gaussians", pld.Gaussian{Sigma: math.Sqrt(10)}, 10},
		{"10000 gaussians", pld.Gaussian{Sigma: 100}, 10000},
		{"1000 subsampled", pld.SubsampledGaussian{Sigma: 0.8, Sampling: 0.005}, 1000},
	} {
		b.Run(c.name, func(b *testing.B) {
			one, err := pld.New(c.pair, pld.Options{MinDelta: 1e-12})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				d, err := one.Power(c.n)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := d.EpsilonAt(1e-6); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A hundred different mechanisms: what a user with a history of his own costs.
func BenchmarkComposeHeterogeneous(b *testing.B) {
	var parts []*pld.Distribution
	for i := range 100 {
		d, err := pld.New(pld.Gaussian{Sigma: 10 + float64(i)/10}, pld.Options{MinDelta: 1e-12})
		if err != nil {
			b.Fatal(err)
		}
		parts = append(parts, d)
	}
	b.ReportAllocs()
	for b.Loop() {
		d, err := parts[0].Compose(parts[1:]...)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := d.EpsilonAt(1e-6); err != nil {
			b.Fatal(err)
		}
	}
}

// Once composed, a question is a search on the curve.
func BenchmarkAsk(b *testing.B) {
	one, err := pld.New(pld.Gaussian{Sigma: 10}, pld.Options{})
	if err != nil {
		b.Fatal(err)
	}
	d, err := one.Power(100)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("delta", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := d.DeltaAt(3); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("epsilon", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := d.EpsilonAt(1e-6); err != nil {
				b.Fatal(err)
			}
		}
	})
}
