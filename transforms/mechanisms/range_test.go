package mechanisms

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/state/units"
)

func TestBadNumbersAreNamed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	g, _ := NewGaussian(1)
	l, _ := NewLaplace(1)
	d, _ := NewDiscreteGaussian(1)
	m, _ := NewLaplaceReduction(8, 1)
	bad := map[string][]error{}
	add := func(name string, err error) { bad[name] = append(bad[name], err) }
	for _, x := range []float64{nan, inf, -inf, -1, 0, 0x1p-24, 0x1p41} {
		_, err := NewGaussian(x)
		add("sigma", err)
		_, err = NewDiscreteGaussian(x)
		add("sigma", err)
		_, err = NewLaplace(x)
		add("scale", err)
		_, err = NewLaplaceReduction(x, 1)
		add("coarsest scale", err)
		_, err = NewLaplaceReduction(8, x)
		add("finest scale", err)
	}
	_, err := NewLaplaceReduction(0x1p21, 1)
	add("finest scale", err)
	for _, x := range []float64{nan, inf, -inf, 0x1p901, -0x1p901} {
		for _, r := range []releaser{g, l, d} {
			_, err = r.Release(x, seeded(t, 1))
			add("value", err)
		}
		_, err = m.Begin(x)
		add("value", err)
	}
	for _, x := range []float64{nan, inf, -inf, -1e-300, 0x1p901} {
		_, err = g.GDP(x)
		add("sensitivity", err)
		_, err = g.ZCDP(x)
		add("sensitivity", err)
		_, err = g.RDP(x, 2)
		add("sensitivity", err)
		_, err = g.Approx(x, 1e-6)
		add("sensitivity", err)
		_, err = l.Approx(x)
		add("sensitivity", err)
		_, err = l.GDP(x)
		add("sensitivity", err)
		_, err = l.ZCDP(x)
		add("sensitivity", err)
		_, err = l.RDP(x, 2)
		add("sensitivity", err)
		_, err = d.ZCDP(x)
		add("sensitivity", err)
		_, err = d.Approx(x, 1e-6)
		add("sensitivity", err)
		_, err = m.Worst(x)
		add("sensitivity", err)
	}
	_, err = g.GDP(0x1p600) // its square has no float64
	add("sensitivity", err)
	for _, x := range []float64{nan, inf, 1, 0, -1} {
		_, err = g.RDP(1, x)
		add("alpha", err)
		_, err = l.RDP(1, x)
		add("alpha", err)
		_, err = d.RDP(1, x)
		add("alpha", err)
	}
	_, err = l.RDP(1)
	add("orders", err)
	for _, x := range []float64{nan, 0, 1, -1} {
		_, err = g.Approx(1, x)
		add("delta", err)
		_, err = d.Approx(1, x)
		add("delta", err)
	}
	for name, errs := range bad {
		for i, err := range errs {
			var out *units.RangeError
			if !errors.As(err, &out) || out.Parameter != name {
				t.Errorf("%s, case %d: %v, want a *units.RangeError that names it", name, i, err)
			}
		}
	}
}
