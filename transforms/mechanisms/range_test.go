package mechanisms

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/units"
)

func TestBadNumbersAreNamed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	g, l, d := must.Have(NewGaussian(1)), must.Have(NewLaplace(1)), must.Have(NewDiscreteGaussian(1))
	for _, c := range []struct {
		name  string
		bad   []float64
		calls func(x float64) []error
	}{
		{"sigma", []float64{nan, inf, -inf, -1, 0, 0x1p-24, 0x1p41}, func(x float64) []error {
			return []error{second(NewGaussian(x)), second(NewDiscreteGaussian(x))}
		}},
		{"scale", []float64{nan, inf, -inf, -1, 0, 0x1p-24, 0x1p41},
			func(x float64) []error { return []error{second(NewLaplace(x))} }},
		{"value", []float64{nan, inf, -inf, 0x1p901, -0x1p901}, func(x float64) []error {
			src := seeded(t, 1)
			return []error{second(g.Release(x, src)), second(l.Release(x, src)), second(d.Release(x, src))}
		}},
		{"sensitivity", []float64{nan, inf, -inf, -1e-300, 0x1p901}, func(x float64) []error {
			return []error{
				second(g.GDP(x)), second(g.ZCDP(x)), second(g.RDP(x, 2)), second(g.Approx(x, 1e-6)),
				second(l.Approx(x)), second(l.GDP(x)),
				second(l.ZCDP(x)), second(l.RDP(x, 2)), second(d.ZCDP(x)), second(d.Approx(x, 1e-6)),
			}
		}},
		// its square has no float64
		{"sensitivity", []float64{0x1p600}, func(x float64) []error { return []error{second(g.GDP(x))} }},
		{"alpha", []float64{nan, inf, 1, 0, -1}, func(x float64) []error {
			return []error{second(g.RDP(1, x)), second(l.RDP(1, x)), second(d.RDP(1, x))}
		}},
		{"orders", []float64{0}, func(float64) []error { return []error{second(l.RDP(1))} }},
		{"delta", []float64{nan, 0, 1, -1}, func(x float64) []error {
			return []error{second(g.Approx(1, x)), second(d.Approx(1, x))}
		}},
	} {
		for _, x := range c.bad {
			for i, err := range c.calls(x) {
				var out *units.RangeError
				if !errors.As(err, &out) || out.Parameter != c.name {
					t.Errorf("%s %v, call %d: %v, want a *units.RangeError that names it", c.name, x, i, err)
				}
			}
		}
	}
}
