package odometer_test

import (
	"fmt"
	"testing"

	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/odometer"
)

// Recording costs the same after 10, 10³ and 10⁶ losses, and does not allocate but
// where a tracker opens a filter.
func BenchmarkRecord(b *testing.B) {
	orders := []float64{1.5, 2, 4, 8, 16, 32, 64}
	curve, step := make(loss.RDP, len(orders)), make(loss.RDP, len(orders))
	for i, alpha := range orders {
		curve[i] = loss.Order{Alpha: alpha, Epsilon: 1e-6 * alpha}
		step[i] = loss.Order{Alpha: alpha, Epsilon: 1e-3 * alpha}
	}
	for _, kind := range []struct {
		name  string
		fresh func() func() error
	}{
		{"Basic", func() func() error {
			o := must(odometer.NewBasic(1e-6))
			return func() error { return o.Record(loss.Approx{Epsilon: 1e-3}) }
		}},
		{"Advanced", func() func() error {
			o := must(odometer.NewAdvanced(1e-6, 1000))
			return func() error { return o.Record(loss.Approx{Epsilon: 1e-3}) }
		}},
		{"Concentrated", func() func() error {
			o := must(odometer.NewConcentrated(1e-6, 1))
			return func() error { return o.Record(loss.ZCDP{Rho: 1e-6}) }
		}},
		{"Renyi7", func() func() error {
			o := must(odometer.NewRenyi(1e-6, orders))
			return func() error { return o.Record(curve) }
		}},
		{"GDPTotal", func() func() error {
			var o odometer.GDPTotal
			return func() error { return o.Record(loss.GDP{Mu: 1e-3}) }
		}},
	} {
		for _, before := range []int{10, 1e3, 1e6} {
			b.Run(fmt.Sprintf("%s/after=%d", kind.name, before), func(b *testing.B) {
				record := kind.fresh()
				for range before {
					if err := record(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := record(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkBound(b *testing.B) {
	advanced := must(odometer.NewAdvanced(1e-6, 1000))
	concentrated := must(odometer.NewConcentrated(1e-6, 1))
	recordMany(b, advanced, loss.Approx{Epsilon: 1e-3}, 1000)
	if err := concentrated.Record(loss.ZCDP{Rho: 0.1}); err != nil {
		b.Fatal(err)
	}
	mixture := must(odometer.NewMixtureFor(1e-6, 100))
	for name, read := range map[string]func() loss.Approx{
		"Advanced":     advanced.Bound,
		"Concentrated": concentrated.Bound,
		"Mixture":      func() loss.Approx { return must(mixture.At(1, 100)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if l := read(); !(l.Epsilon > 0) {
					b.Fatal(l)
				}
			}
		})
	}
}
