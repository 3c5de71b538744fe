package odometer_test

import (
	"math/big"
	"testing"

	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/odometer"
)

// The reference values of this file were computed with mpmath 1.3.0 at 60 decimals
// from the formulas of the papers, on the float64 values of the inputs. A claim
// must not be below its value, and above it by no more than the stated part.

func requireJustAbove(t *testing.T, what string, got float64, want string, within float64) {
	t.Helper()
	exact, _, err := big.ParseFloat(want, 10, 200, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	if new(big.Float).SetFloat64(got).Cmp(exact) < 0 {
		t.Errorf("%s: %.17g is below the true value %s", what, got, want)
	}
	limit := new(big.Float).Mul(exact, big.NewFloat(1+within))
	if new(big.Float).SetFloat64(got).Cmp(limit) > 0 {
		t.Errorf("%s: %.17g is more than a part of %g above %s", what, got, within, want)
	}
}

func recordMany(t testing.TB, o odometer.Odometer[loss.Approx, loss.Approx], l loss.Approx, times int) {
	t.Helper()
	for range times {
		if err := o.Record(l); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAdvancedOdometerHasTheValuesOfTheorem62(t *testing.T) {
	for _, c := range []struct {
		epsilon float64
		times   int
		delta   float64
		n       uint64
		want    string
		within  float64
	}{
		{0.01, 5000, 1e-6, 1024, "7.61598893112385087873109424744", 1e-11},
		{0.001, 100000, 1e-10, 65536, "4.1545335264843494171156987129", 1e-11},
		{0.1, 1000, 1e-5, 1 << 20, "76.6091614076432344824733638317", 1e-11},        // Σε² above 1
		{0.125, 8000, 1e-2, 2, "145.098078929122763893475232025", 1e-11},            // the least n
		{5e-7, 1000000, 1e-6, 32, "0.181237724921644151748006001988", 1e-10},        // Σε² below 1/n²
		{0.01, 5000, 1e-6, 1000, "7.61598893112385087873109424744", 1e-11},          // n² no power of two: 2k = 40, not 39.86
		{0.05, 10000, 1e-9, 1000000, "156.40627209796533203307251006", 1e-11},       // the same, above 1
		{0.01, 50, 1e-6, 1024, "0.5000000000000000104083408558608425664715", 1e-15}, // Σε is the better bound
		{0.5, 1, 1e-6, 1 << 32, "0.5", 0},                                           // the same
		{0.001, 100000, 1e-300, 65536, "20.8025299447802602115328587885", 1e-11},    // δ at its least
	} {
		o, err := odometer.NewAdvanced(c.delta, c.n)
		if err != nil {
			t.Fatal(err)
		}
		recordMany(t, o, loss.Approx{Epsilon: c.epsilon}, c.times)
		if b := o.Bound(); b.Delta != c.delta {
			t.Errorf("the bound has δ = %v, want %v", b.Delta, c.delta)
		} else {
			requireJustAbove(t, "Bound", b.Epsilon, c.want, c.within)
		}
	}
}

func TestBoundariesHaveTheValuesOfTheirFormulas(t *testing.T) {
	for _, c := range []struct {
		d, variance, delta, slope float64
		want                      string
	}{
		{1, 100, 1e-6, 0.25, "0.531310211159285482987196738044"},
		{10, 40000, 1e-10, 0.01, "0.389073136624255706136992012187"},
		{0.5, 0.3, 0.05, 2.5, "2.66524409118466369834924329823"},
		{1, 1e-6, 1e-300, 1, "345887764.949106868242243587304"},
		{1000, 1e12, 0.9, 1e-5, "0.0100057680257828921314273924537"},
	} {
		b, err := odometer.NewLinear(c.delta, c.slope)
		if err != nil {
			t.Fatal(err)
		}
		l, err := b.At(c.d, c.variance)
		if err != nil {
			t.Fatal(err)
		}
		requireJustAbove(t, "ψ_L", l.Epsilon, c.want, 1e-11)
	}
	for _, c := range []struct {
		d, variance, delta, p float64
		want                  string
	}{
		{1, 100, 1e-6, 4, "0.571786400331800759042108585634"},
		{10, 40000, 1e-10, 1000, "0.358354346706777891422078414233"},
		{0.5, 0.3, 0.05, 2.5, "7.30736511754996176205063621309"},
		{1, 1e-6, 1e-300, 1, "37669240.4865566742388081082828"},
		{1000, 1e12, 0.9, 1e5, "0.00404139326945857920027935154797"},
	} {
		b, err := odometer.NewMixture(c.delta, c.p)
		if err != nil {
			t.Fatal(err)
		}
		l, err := b.At(c.d, c.variance)
		if err != nil {
			t.Fatal(err)
		}
		requireJustAbove(t, "ψ_M", l.Epsilon, c.want, 1e-11)
	}
}

// At its own variance the linear boundary gives away nothing: ρ + 2√(ρ ln(1/δ)).
// The best mixture has p = T/(y − 1), y = −W₋₁(−δ²/e), with Lambert's W of mpmath.
func TestBoundariesMadeForAVarianceAreTightThere(t *testing.T) {
	for _, c := range []struct {
		delta, variance float64
		linear, mixture string
	}{
		{1e-6, 100, "0.530652176975693198723883452552", "0.571567499913021402327066071323"},
		{0.05, 1, "2.94774683068081652369755771491", "3.53512241302855099232837712495"},
		{1e-300, 7, "14.1200739346778969314436137593", "14.1618912134620291388777616152"},
		{0.5, 3, "0.846444660112539311845119066631", "1.27611615911621718695111154085"},
	} {
		l, err := odometer.NewLinearFor(c.delta, c.variance)
		if err != nil {
			t.Fatal(err)
		}
		m, err := odometer.NewMixtureFor(c.delta, c.variance)
		if err != nil {
			t.Fatal(err)
		}
		for what, b := range map[string]odometer.Boundary{c.linear: l, c.mixture: m} {
			got, err := b.At(1, c.variance)
			if err != nil {
				t.Fatal(err)
			}
			requireJustAbove(t, "at its own variance", got.Epsilon, what, 1e-11)
		}
	}
}

func TestConcentratedOdometerHasTheValuesOfItsFormula(t *testing.T) {
	for _, c := range []struct {
		rho, at, delta float64
		want           string
	}{
		{0.5, 0.5, 1e-6, "6.16567499913021402327066071323"},
		{0.125, 1, 1e-10, "3.85729765601830125336400339968"},
		{20, 0.5, 0.05, "41.7484398917969557340660075988"},
	} {
		o, err := odometer.NewConcentrated(c.delta, c.at)
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			if err := o.Record(loss.ZCDP{Rho: c.rho / 8}); err != nil {
				t.Fatal(err)
			}
		}
		requireJustAbove(t, "Bound", o.Bound().Epsilon, c.want, 1e-11)
	}
}

func TestRenyiOdometerHasTheValuesOfItsFormula(t *testing.T) {
	curve := loss.RDP{{Alpha: 2, Epsilon: 0.04}, {Alpha: 4, Epsilon: 0.2}, {Alpha: 8, Epsilon: 0.4}, {Alpha: 16, Epsilon: 0.8}, {Alpha: 32, Epsilon: 1.6}}
	o, err := odometer.NewRenyi(1e-5, []float64{2, 4, 8, 16, 32})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Record(curve); err != nil {
		t.Fatal(err)
	}
	requireJustAbove(t, "five orders", o.Bound().Epsilon, "1.67482422516028862526809849785", 1e-11)
	if o, err = odometer.NewRenyi(1e-5, []float64{10}); err != nil {
		t.Fatal(err)
	}
	if err := o.Record(loss.RDP{{Alpha: 10, Epsilon: 0.5}}); err != nil {
		t.Fatal(err)
	}
	requireJustAbove(t, "one order", o.Bound().Epsilon, "1.77921394055224759314298926215", 1e-11)
}

func TestPointWiseHasTheValuesOfItsFormula(t *testing.T) {
	for _, c := range []struct {
		l       loss.Approx
		epsilon float64
		want    string
	}{
		{loss.Approx{Epsilon: 1, Delta: 0.1}, 3, "0.121409726569788417018541516056"},
		{loss.Approx{Epsilon: 0.1, Delta: 1e-6}, 0.2, "0.0000191118264715141377058062267635"},
		{loss.Approx{Epsilon: 0, Delta: 1e-300}, 1e-3, "2.00000016666666389737378291939e-297"},
	} {
		got, err := odometer.PointWise(c.l, c.epsilon)
		if err != nil {
			t.Fatal(err)
		}
		if got.Epsilon != c.epsilon {
			t.Errorf("ε′ is %v, want %v", got.Epsilon, c.epsilon)
		}
		requireJustAbove(t, "δ′", got.Delta, c.want, 1e-11)
	}
}
