package conversion_test

import (
	"fmt"
	"testing"

	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

func BenchmarkConversions(b *testing.B) {
	var orders []float64
	for alpha := 2.0; alpha <= 32; alpha++ {
		orders = append(orders, alpha)
	}
	r, err := conversion.GDPToRDP(loss.GDP{Mu: 0.5}, orders)
	if err != nil {
		b.Fatal(err)
	}
	z := loss.ZCDP{Rho: 0.125, Delta: 1e-8}
	for _, c := range []struct {
		name string
		run  func() (float64, error)
	}{
		{"GDPToEpsilon", func() (float64, error) { return conversion.GDPToEpsilon(loss.GDP{Mu: 0.5}, 1e-6) }},
		{"GDPToDelta", func() (float64, error) { return conversion.GDPToDelta(loss.GDP{Mu: 0.5}, 1) }},
		{"ApproxZCDPToEpsilon", func() (float64, error) { return conversion.ApproxZCDPToEpsilon(z, 1e-6) }},
		{"RDPToEpsilon of 31 orders", func() (float64, error) { return conversion.RDPToEpsilon(r, 1e-6) }},
		{"RDPToDelta of 31 orders", func() (float64, error) { return conversion.RDPToDelta(r, 1) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
func BenchmarkGDPToEpsilon(b *testing.B) {
	for _, c := range []struct{ mu, delta float64 }{{0.01, 1e-6}, {0.5, 1e-6}, {1, 1e-5}, {5, 1e-9}, {100, 1e-15}} {
		b.Run(fmt.Sprintf("mu=%v,delta=%v", c.mu, c.delta), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conversion.GDPToEpsilon(loss.GDP{Mu: c.mu}, c.delta); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
