package conversion_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// results runs every conversion on the given numbers and returns the results and errors.
func results(x, y, z float64) map[string]func() ([]float64, error) {
	rdp := loss.RDP{{Alpha: x, Epsilon: y}}
	orders := []float64{y}
	one := func(v float64, err error) ([]float64, error) { return []float64{v}, err }
	curve := func(r loss.RDP, err error) ([]float64, error) {
		var all []float64
		for _, o := range r {
			all = append(all, o.Alpha, o.Epsilon)
		}
		return all, err
	}
	zcdp := func(v loss.ZCDP, err error) ([]float64, error) { return []float64{v.Rho, v.Delta}, err }
	gdp := func(v loss.GDP, err error) ([]float64, error) { return []float64{v.Mu}, err }
	return map[string]func() ([]float64, error){
		"RDPToEpsilon": func() ([]float64, error) { return one(conversion.RDPToEpsilon(rdp, z)) },
		"RDPToDelta":   func() ([]float64, error) { return one(conversion.RDPToDelta(rdp, z)) },
		"ApproxZCDPToEpsilon": func() ([]float64, error) {
			return one(conversion.ApproxZCDPToEpsilon(loss.ZCDP{Rho: x, Delta: y}, z))
		},
		"ApproxZCDPToDelta": func() ([]float64, error) {
			return one(conversion.ApproxZCDPToDelta(loss.ZCDP{Rho: x, Delta: y}, z))
		},
		"GDPToEpsilon": func() ([]float64, error) { return one(conversion.GDPToEpsilon(loss.GDP{Mu: x}, z)) },
		"GDPToDelta":   func() ([]float64, error) { return one(conversion.GDPToDelta(loss.GDP{Mu: x}, z)) },
		"GDPToZCDP":    func() ([]float64, error) { return zcdp(conversion.GDPToZCDP(loss.GDP{Mu: x})) },
		"GDPToRDP":     func() ([]float64, error) { return curve(conversion.GDPToRDP(loss.GDP{Mu: x}, orders)) },
		"ZCDPToRDP":    func() ([]float64, error) { return curve(conversion.ZCDPToRDP(loss.ZCDP{Rho: x}, orders)) },
		"PureToZCDP":   func() ([]float64, error) { return zcdp(conversion.PureToZCDP(x)) },
		"PureToRDP":    func() ([]float64, error) { return curve(conversion.PureToRDP(x, orders)) },
		"PureToGDP":    func() ([]float64, error) { return gdp(conversion.PureToGDP(x)) },
		"ApproxToZCDP": func() ([]float64, error) {
			return zcdp(conversion.ApproxToZCDP(loss.Approx{Epsilon: x, Delta: y}))
		},
		"GDPWithin": func() ([]float64, error) {
			return gdp(conversion.GDPWithin(loss.Approx{Epsilon: x, Delta: y}))
		},
	}
}

// sound fails unless every result is a number that promises no more than nothing, and
// every error a *RangeError.
func sound(t *testing.T, x, y, z float64) {
	t.Helper()
	for name, run := range results(x, y, z) {
		values, err := run()
		for _, v := range values {
			if math.IsNaN(v) || v < 0 {
				t.Errorf("%s of %v, %v, %v: %v", name, x, y, z, values)
			}
		}
		var out *units.RangeError
		if err != nil && (!errors.As(err, &out) || out.Parameter == "" || out.Range == "") {
			t.Errorf("%s of %v, %v, %v: %v is not a *RangeError", name, x, y, z, err)
		}
	}
}

func TestAnyNumbersAreConvertedSoundlyOrRefused(t *testing.T) {
	odd := []float64{
		math.NaN(), math.Inf(1), math.Inf(-1), -1, math.Copysign(0, -1), 0, 5e-324, 1e-300, 1e-17, 0.5,
		math.Nextafter(1, 0), 1, math.Nextafter(1, 2), 3, 4096, 1e6, 1e19, math.MaxFloat64,
	}
	if !long.On() {
		odd = []float64{math.NaN(), -1, 0, 0.5, math.Nextafter(1, 2), math.MaxFloat64}
	}
	for i, x := range odd {
		for j, y := range odd {
			// A diagonal of the cube, so that every pair of numbers meets.
			sound(t, x, y, odd[(i+j)%len(odd)])
		}
	}
}

func TestBadNumbersAreNamed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	sampled := func(sigma, sampling float64, orders ...float64) error {
		_, err := conversion.SampledGaussianToRDP(sigma, sampling, orders)
		return err
	}
	r := loss.RDP{{Alpha: 2, Epsilon: 1}}
	last := func(_ any, err error) error { return err }
	for i, c := range []struct {
		err  error
		name string
	}{
		{last(conversion.RDPToEpsilon(r, 0)), "delta"},
		{last(conversion.RDPToEpsilon(r, 1)), "delta"},
		{last(conversion.RDPToEpsilon(r, nan)), "delta"},
		{last(conversion.RDPToEpsilon(nil, 0.5)), "orders"},
		{last(conversion.RDPToDelta(r, -1)), "epsilon"},
		{last(conversion.RDPToDelta(r, inf)), "epsilon"},
		{last(conversion.ApproxZCDPToEpsilon(loss.ZCDP{Rho: 1e7}, 0.5)), "rho"},
		{last(conversion.ApproxZCDPToEpsilon(loss.ZCDP{Rho: nan}, 0.5)), "rho"},
		{last(conversion.ApproxZCDPToDelta(loss.ZCDP{Rho: 1, Delta: 1}, 1)), "delta"},
		{last(conversion.GDPToDelta(loss.GDP{Mu: 5000}, 1)), "mu"},
		{last(conversion.GDPToEpsilon(loss.GDP{Mu: -1}, 0.5)), "mu"},
		{last(conversion.GDPToZCDP(loss.GDP{Mu: 1e200})), "mu"},
		{last(conversion.GDPToRDP(loss.GDP{Mu: 1}, []float64{2, 1.5})), "alpha"},
		{last(conversion.GDPToRDP(loss.GDP{Mu: 1}, nil)), "orders"},
		{last(conversion.ZCDPToRDP(loss.ZCDP{Rho: 1, Delta: 0.1}, []float64{2})), "delta"},
		{last(conversion.PureToZCDP(1e7)), "epsilon"},
		{last(conversion.PureToRDP(nan, []float64{2})), "epsilon"},
		{last(conversion.ApproxToZCDP(loss.Approx{Epsilon: 1, Delta: -1})), "delta"},
		{sampled(0, 0.1, 2), "sigma"}, {sampled(nan, 0.1, 2), "sigma"}, {sampled(inf, 0.1, 2), "sigma"},
		{sampled(1, 0, 2), "sampling"},
		{sampled(1, 1.5, 2), "sampling"}, {sampled(1, nan, 2), "sampling"}, {sampled(1, 0.1, 1), "alpha"},
		{sampled(1, 0.1, 3, 2), "alpha"},
		{last(conversion.GaussianWithoutReplacementToRDP(1, 0, []float64{2})), "sampling"},
		{last(conversion.GaussianWithoutReplacementToRDP(nan, 0.5, []float64{2})), "sigma"},
		{last(conversion.SampledPure(1, 2)), "sampling"},
		{last(conversion.ZCDPForGroup(loss.ZCDP{Rho: 1, Delta: 0.1}, 2)), "delta"},
		{last(conversion.ZCDPForGroup(loss.ZCDP{Rho: 1}, conversion.MaxGroup+1)), "group"},
		{last(conversion.ApproxForGroup(loss.Approx{Epsilon: 1, Delta: 0.1}, 10)), "group"},
		{last(conversion.ApproxForGroup(loss.Approx{Epsilon: 1e6}, 2)), "group"},
	} {
		var out *units.RangeError
		if !errors.As(c.err, &out) || out.Parameter != c.name {
			t.Errorf("case %d: %v is not a *RangeError that names %s", i+1, c.err, c.name)
		}
	}
	curve, err := conversion.SampledGaussianToRDP(1, 0.1, []float64{conversion.MaxSampledOrder,
		conversion.MaxSampledOrder + 1})
	if err != nil || math.IsInf(curve[0].Epsilon, 1) || !math.IsInf(curve[1].Epsilon, 1) {
		t.Errorf("beyond the greatest order: %v, %v", curve, err)
	}
}

func FuzzConversions(f *testing.F) {
	f.Add(2.0, 1.0, 1e-5)
	f.Add(1.0000001, 1e-300, 0.0)
	f.Add(4096.0, 0.3, 1e6)
	f.Add(math.NaN(), math.Inf(1), -1.0)
	f.Fuzz(func(t *testing.T, x, y, z float64) { sound(t, x, y, z) })
}
