package loss

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/state"
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
		var out *state.RangeError
		if err := c.loss.Validate(); !errors.As(err, &out) || out.Parameter != c.name {
			t.Errorf("%#v: %v, want a *state.RangeError that names %s", c.loss, err, c.name)
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
