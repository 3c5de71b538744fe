package odometer_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/odometer"
	"github.com/tollgate-dp/tollgate/state/units"
)

func TestBadParametersAreNamed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		parameter string
		make      func(v float64) error
		values    []float64
	}{
		{"delta", func(v float64) error { _, err := odometer.NewBasic(v); return err }, []float64{nan, inf, -1, 1, 2}},
		{"delta", func(v float64) error { _, err := odometer.NewAdvanced(v, 100); return err }, []float64{nan, inf, -1, 0, 0.37, 1, 1e-301}},
		{"n", func(v float64) error { _, err := odometer.NewAdvanced(1e-6, uint64(v)); return err }, []float64{0, 1}},
		{"delta", func(v float64) error { _, err := odometer.NewConcentrated(v, 1); return err }, []float64{nan, inf, -1, 0, 1}},
		{"rho", func(v float64) error { _, err := odometer.NewConcentrated(1e-6, v); return err }, []float64{nan, inf, -1, 0, 0x1p41}},
		{"delta", func(v float64) error { _, err := odometer.NewRenyi(v, []float64{2}); return err }, []float64{nan, inf, -1, 0, 1}},
		{"alpha", func(v float64) error { _, err := odometer.NewRenyi(1e-6, []float64{v}); return err }, []float64{nan, inf, -1, 0, 1}},
		{"alpha", func(v float64) error { _, err := odometer.NewRenyi(1e-6, []float64{3, v}); return err }, []float64{nan, inf, 2, 3}},
		{"alpha", func(v float64) error { _, err := odometer.NewRenyiTotal([]float64{v}); return err }, []float64{nan, inf, 1}},
		{"delta", func(v float64) error { _, err := odometer.NewLinear(v, 1); return err }, []float64{nan, inf, -1, 0, 1}},
		{"slope", func(v float64) error { _, err := odometer.NewLinear(1e-6, v); return err }, []float64{nan, inf, -1, 0, 1e300}},
		{"delta", func(v float64) error { _, err := odometer.NewLinearFor(v, 1); return err }, []float64{nan, inf, -1, 0, 1}},
		{"variance", func(v float64) error { _, err := odometer.NewLinearFor(1e-6, v); return err }, []float64{nan, inf, -1, 0, 1e300}},
		{"delta", func(v float64) error { _, err := odometer.NewMixture(v, 1); return err }, []float64{nan, inf, -1, 0, 1}},
		{"p", func(v float64) error { _, err := odometer.NewMixture(1e-6, v); return err }, []float64{nan, inf, -1, 0, 1e300}},
		{"delta", func(v float64) error { _, err := odometer.NewMixtureFor(v, 1); return err }, []float64{nan, inf, -1, 0, 1}},
		{"variance", func(v float64) error { _, err := odometer.NewMixtureFor(1e-6, v); return err }, []float64{nan, inf, -1, 0, 1e300}},
		{"epsilon", func(v float64) error {
			_, err := odometer.PointWise(loss.Approx{Epsilon: 1, Delta: 0.1}, v)
			return err
		}, []float64{nan, inf, -1, 0, 1, 1.05}},
		{"delta", func(v float64) error { _, err := odometer.PointWise(loss.Approx{Epsilon: 1, Delta: v}, 2); return err }, []float64{nan, inf, -1, 1}},
	} {
		for _, v := range c.values {
			var out *units.RangeError
			if err := c.make(v); !errors.As(err, &out) || out.Parameter != c.parameter {
				t.Errorf("%s = %v: %v, want a *units.RangeError that names it", c.parameter, v, err)
			}
		}
	}
	var out *units.RangeError
	if _, err := odometer.NewRenyi(1e-6, nil); !errors.As(err, &out) || out.Parameter != "orders" {
		t.Errorf("no orders: %v, want a *units.RangeError", err)
	}
}

func TestBadStopsAreNamed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, b := range []odometer.Boundary{must(odometer.NewLinear(1e-6, 1)), must(odometer.NewMixture(1e-6, 1))} {
		for _, v := range []float64{nan, inf, -1, 1e200, 1e-200} {
			var out *units.RangeError
			if _, err := b.At(v, 1); !errors.As(err, &out) || out.Parameter != "sensitivity" {
				t.Errorf("%T, sensitivity %v: %v", b, v, err)
			}
			if _, err := b.At(1, v); !errors.As(err, &out) || out.Parameter != "variance" {
				t.Errorf("%T, variance %v: %v", b, v, err)
			}
		}
	}
	for _, b := range []odometer.Boundary{odometer.Linear{}, odometer.Mixture{}} {
		var out *units.RangeError
		if _, err := b.At(1, 1); !errors.As(err, &out) || out.Parameter != "delta" {
			t.Errorf("the zero value of %T: %v, want a *units.RangeError", b, err)
		}
	}
}

// Within the ranges that are accepted every bound is a positive finite number, and
// falls with the variance and grows with the sensitivity.
func TestBoundariesAreMonotoneUpToTheirLimits(t *testing.T) {
	deltas := []float64{1e-300, 1e-9, 0.5, 1 - 0x1p-53}
	for _, delta := range deltas {
		var boundaries []odometer.Boundary
		for _, v := range []float64{0x1p-150, 1e-3, 1, 0x1p150} {
			boundaries = append(boundaries, must(odometer.NewLinearFor(delta, v)), must(odometer.NewMixtureFor(delta, v)))
		}
		for _, b := range append(boundaries,
			must(odometer.NewLinear(delta, 0x1p-120)), must(odometer.NewLinear(delta, 0x1p120)),
			must(odometer.NewMixture(delta, 0x1p-200)), must(odometer.NewMixture(delta, 0x1p200))) {
			previous := math.Inf(1)
			for e := -200; e <= 200; e += 4 {
				variance := math.Ldexp(1, e)
				small, large := must(b.At(1, variance)), must(b.At(0x1p100, variance))
				if !(small.Epsilon > 0) || small.Epsilon >= large.Epsilon || math.IsInf(large.Epsilon, 1) {
					t.Fatalf("%+v at 2^%d: %v for sensitivity 1, %v for 2^100", b, e, small, large)
				}
				if small.Epsilon > previous {
					t.Fatalf("%+v at 2^%d: %v, and %v at less variance", b, e, small.Epsilon, previous)
				}
				previous = small.Epsilon
				if zero := must(b.At(0, variance)); zero.Epsilon != 0 {
					t.Fatalf("%+v: a mechanism without sensitivity loses %v", b, zero.Epsilon)
				}
			}
		}
	}
}
