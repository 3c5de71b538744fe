package conversion_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

func near(t *testing.T, what string, got, want, tolerance float64, err error) {
	t.Helper()
	if err != nil || !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %v, %v; published: %v (to %v)", what, got, err, want, tolerance)
	}
}

func TestGDPAgreesWithPublishedValues(t *testing.T) {
	// google/differential-privacy, go/noise/gaussian_noise_test.go: to 1e-10.
	got, err := conversion.GDPToDelta(loss.GDP{Mu: 0.1}, 0.1)
	near(t, "δ(0.1) of σ = 10", got, 0.008751768145810, 1e-10, err)
	// The same file, "deltaNoise is chosen to get a sigma of 1": to the digits given.
	got, err = conversion.GDPToDelta(loss.GDP{Mu: 1}, math.Log(3))
	near(t, "δ(ln 3) of σ = 1", got, 0.10985556344445052, 1e-16, err)
	// R package fdp, documentation of gdp_to_epsdelta: 15 digits.
	got, err = conversion.GDPToDelta(loss.GDP{Mu: 1}, 1)
	near(t, "δ(1) of μ = 1", got, 0.126936737506644, 5e-16, err)
}

func TestZCDPAgreesWithPublishedValues(t *testing.T) {
	// opendp/opendp, python/test/test_measurement.py (a Gaussian of scale 4): as
	// printed. Their δ at ε = 0 is found by another search.
	z := loss.ZCDP{Rho: 1.0 / 32}
	got, err := conversion.ApproxZCDPToEpsilon(z, 1e-3)
	near(t, "ε(1e-3) of ρ = 1/32", got, 0.6880024554878085, 2e-16, err)
	got, err = conversion.ApproxZCDPToDelta(z, 0)
	near(t, "δ(0) of ρ = 1/32", got, 0.1508457845622862, 2e-16, err)
	// IBM/discrete-gaussian-differential-privacy, cdp2adp.py (the program of Canonne,
	// Kamath and Steinke) at its example: float64 over many steps.
	got, err = conversion.ApproxZCDPToDelta(loss.ZCDP{Rho: 0.025}, 1)
	near(t, "δ(1) of ρ = 0.025", got, 1.3361319064032213e-06, 1e-20, err)
}

// google/differential-privacy, dp_accounting/rdp/rdp_privacy_accountant_test.py.
func TestRDPAgreesWithPublishedValues(t *testing.T) {
	// test_compute_epsilon_delta_pure_dp: 1.1 at every order from 2 to 32, "computed by
	// hand", compared there to 7 places; 12 digits are printed.
	var r loss.RDP
	for alpha := 2; alpha <= 32; alpha++ {
		r = append(r, loss.Order{Alpha: float64(alpha), Epsilon: 1.1})
	}
	got, err := conversion.RDPToEpsilon(r, 1e-5)
	near(t, "ε(1e-5) of 1.1 at orders 2 to 32", got, 1.32783806176, 5e-12, err)
	got, err = conversion.RDPToDelta(r, 1.32783806176)
	near(t, "δ(1.3278…) of 1.1 at orders 2 to 32", got, 1e-5, 1e-14, err)

	// test_compute_epsilon_delta_gaussian: σ = 4.530877117 "to obtain exactly
	// (1, 1e-6)-DP", orders in steps of 0.001, compared to 7 places.
	var orders []float64
	for i := 1001; i < 100000; i++ {
		orders = append(orders, 0.001*float64(i))
	}
	r = must.Have(conversion.GDPToRDP(loss.GDP{Mu: 1 / 4.530877117}, orders))
	got, err = conversion.RDPToEpsilon(r, 1e-6)
	near(t, "ε(1e-6) of σ = 4.53", got, 1, 5e-8, err)
	got, err = conversion.RDPToDelta(r, 1)
	near(t, "δ(1) of σ = 4.53", got, 1e-6, 5e-13, err)
}
