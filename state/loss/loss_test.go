package loss

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/units"
)

func TestWhatCannotBeALossIsNamed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		loss interface{ Validate() error }
		name string
	}{
		{Approx{Epsilon: nan}, "epsilon"},
		{Approx{Epsilon: inf}, "epsilon"},
		{Approx{Epsilon: -1}, "epsilon"},
		{Approx{Epsilon: 1, Delta: nan}, "delta"},
		{Approx{Epsilon: 1, Delta: -1e-9}, "delta"},
		{Approx{Epsilon: 1, Delta: 1}, "delta"},
		{ZCDP{Rho: nan}, "rho"},
		{ZCDP{Rho: inf}, "rho"},
		{ZCDP{Rho: -1e-300}, "rho"},
		{ZCDP{Rho: 1, Delta: 1}, "delta"},
		{GDP{Mu: nan}, "mu"},
		{GDP{Mu: inf}, "mu"},
		{GDP{Mu: -1}, "mu"},
		{RDP{}, "orders"},
		{RDP{{Alpha: 1, Epsilon: 1}}, "alpha"},
		{RDP{{Alpha: nan, Epsilon: 1}}, "alpha"},
		{RDP{{Alpha: inf, Epsilon: 1}}, "alpha"},
		{RDP{{Alpha: 3, Epsilon: 1}, {Alpha: 2, Epsilon: 1}}, "alpha"},
		{RDP{{Alpha: 2, Epsilon: 1}, {Alpha: 2, Epsilon: 1}}, "alpha"},
		{RDP{{Alpha: 2, Epsilon: -1}}, "epsilon"},
		{RDP{{Alpha: 2, Epsilon: nan}}, "epsilon"},
	} {
		var out *units.RangeError
		if err := c.loss.Validate(); !errors.As(err, &out) || out.Parameter != c.name {
			t.Errorf("%#v: %v, want a *units.RangeError that names %s", c.loss, err, c.name)
		}
	}
}

func TestLossesAtTheirLimitsAreTaken(t *testing.T) {
	for _, l := range []interface{ Validate() error }{
		Approx{}, Approx{Epsilon: math.MaxFloat64, Delta: math.Nextafter(1, 0)},
		ZCDP{}, ZCDP{Rho: 0.5, Delta: 1e-300},
		GDP{}, GDP{Mu: 5},
		RDP{{Alpha: math.Nextafter(1, 2), Epsilon: 0}, {Alpha: 2, Epsilon: math.Inf(1)}},
	} {
		if err := l.Validate(); err != nil {
			t.Errorf("%#v: %v", l, err)
		}
	}
}

func TestSplitIsTheGreatestOfWhichKFit(t *testing.T) {
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	square := func(x float64) *big.Rat { return new(big.Rat).Mul(rat(x), rat(x)) }
	for _, x := range []float64{0, 5e-324, 1e-300, 0.1, 1, 3, 0.7, 1e300} {
		for _, k := range []int{1, 2, 3, 4, 10, 1000, 999_983, math.MaxInt} {
			times := new(big.Rat).SetInt64(int64(k))
			fits := func(whole, part *big.Rat) bool { return new(big.Rat).Mul(times, part).Cmp(whole) <= 0 }
			a, errA := Approx{Epsilon: x, Delta: min(x, 0.5)}.Split(k)
			z, errZ := ZCDP{Rho: x}.Split(k)
			g, errG := GDP{Mu: x}.Split(k)
			must.Have(0, errors.Join(errA, errZ, errG))
			next := func(f float64) float64 { return math.Nextafter(f, math.Inf(1)) }
			if !fits(rat(x), rat(a.Epsilon)) || fits(rat(x), rat(next(a.Epsilon))) ||
				!fits(rat(min(x, 0.5)), rat(a.Delta)) || z.Rho != a.Epsilon {
				t.Errorf("%v over %d: %v and %v", x, k, a, z)
			}
			if !fits(square(x), square(g.Mu)) || fits(square(x), square(next(g.Mu))) {
				t.Errorf("μ = %v over %d: %v", x, k, g.Mu)
			}
		}
	}
	for _, k := range []int{0, -1} {
		_, errA := Approx{}.Split(k)
		_, errZ := ZCDP{}.Split(k)
		_, errG := GDP{}.Split(k)
		for _, err := range []error{errA, errZ, errG} {
			var out *units.RangeError
			if !errors.As(err, &out) || out.Parameter != "k" {
				t.Errorf("%d: %v", k, err)
			}
		}
	}
}
