package mechanisms_test

import (
	"testing"

	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

func BenchmarkRelease(b *testing.B) {
	for _, c := range []struct {
		name string
		m    interface {
			Release(float64, mechanisms.Source) (float64, error)
		}
	}{
		{"gaussian", must(mechanisms.NewGaussian(10))},
		{"laplace", must(mechanisms.NewLaplace(10))},
		{"discrete-gaussian", must(mechanisms.NewDiscreteGaussian(10))},
	} {
		for name, src := range map[string]mechanisms.Source{
			"keyed":  mechanisms.NewKeyed([32]byte{1}),
			"system": new(mechanisms.System),
		} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.m.Release(1234, src); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkRefinement is one refinement of eight rungs by halves.
func BenchmarkRefinement(b *testing.B) {
	m := must(mechanisms.NewLaplaceReduction(256, 2))
	src := mechanisms.NewKeyed([32]byte{1})
	b.ReportAllocs()
	for b.Loop() {
		c := must(m.Begin(1234))
		for scale := 256.0; scale >= 2; scale /= 2 {
			if _, err := c.Next(scale, src); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkPrice(b *testing.B) {
	g, l := must(mechanisms.NewGaussian(10)), must(mechanisms.NewLaplace(10))
	b.Run("gaussian-gdp", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must(g.GDP(3))
		}
	})
	b.Run("laplace-approx", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must(l.Approx(3))
		}
	})
}
