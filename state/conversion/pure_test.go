package conversion_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/conversion"
)

// responseRDP returns Σ p^α·q^(1−α) of randomised response, as the definition has it.
func responseRDP(epsilon, alpha float64) float64 {
	p := 1 / (1 + math.Exp(-epsilon))
	sum := math.Pow(p, alpha)*math.Pow(1-p, 1-alpha) + math.Pow(1-p, alpha)*math.Pow(p, 1-alpha)
	return math.Log(sum) / (alpha - 1)
}

func TestPureToRDPIsRandomisedResponse(t *testing.T) {
	orders := []float64{1.01, 1.5, 2, 3, 10, 40}
	for _, epsilon := range []float64{0.1, 0.5, 1, 3, 8} {
		r := must.Have(conversion.PureToRDP(epsilon, orders))
		for i, alpha := range orders {
			want := responseRDP(epsilon, alpha)
			if math.Abs(r[i].Epsilon-want) > 1e-11*math.Max(1, want) {
				t.Errorf("ε = %v, order %v: %v, want %v", epsilon, alpha, r[i].Epsilon, want)
			}
		}
	}
}

// Canonne, Kamath and Steinke: ε²/2 is a bound; ε·tanh(ε/2) is one for every order and
// the supremum of D_α/α.
func TestPureToZCDPIsTheLeastRhoForAllOrders(t *testing.T) {
	for _, epsilon := range []float64{1e-300, 1e-18, 1e-6, 0.1, 1, 5, 200, 1e6} {
		z := must.Have(conversion.PureToZCDP(epsilon))
		if old := epsilon * epsilon / 2; z.Rho > math.Nextafter(old, 1e300) || z.Rho > epsilon*(1+1e-15) {
			t.Errorf("ε = %v: ρ = %v", epsilon, z.Rho)
		}
		orders := []float64{1 + 0x1p-40, 1.001, 1.1, 2, 5, 30, 1e4, 1e9, 1e30}
		r := must.Have(conversion.PureToRDP(epsilon, orders))
		for _, o := range r {
			if o.Epsilon > z.Rho*o.Alpha*(1+4e-16)+5e-324 || o.Epsilon > epsilon {
				t.Errorf("ε = %v: D of order %v is %v, above ρ·α = %v", epsilon, o.Alpha, o.Epsilon, z.Rho*o.Alpha)
			}
		}
		if epsilon >= 1e-6 && r[0].Epsilon < z.Rho*(1-1e-9) {
			t.Errorf("ε = %v: D next to order 1 is %v, so that ρ = %v is not the least", epsilon, r[0].Epsilon, z.Rho)
		}
	}
}

// μ = 2·Φ⁻¹(e^ε/(1 + e^ε)): at ε = ln 3 twice the upper quartile of the normal
// distribution, 0.674489750196081743 (any table).
func TestPureToGDPIsTwiceAQuantile(t *testing.T) {
	g, err := conversion.PureToGDP(math.Log(3))
	if want := 2 * 0.674489750196081743; err != nil || math.Abs(g.Mu-want) > 1e-15 {
		t.Errorf("μ = %v, %v; want %v", g.Mu, err, want)
	}
	for _, epsilon := range []float64{0, 1e-9, 0.5, 8, 200, 700, 1e6} {
		g := must.Have(conversion.PureToGDP(epsilon))
		// Randomised response is at the corner; total variation never above.
		tv, err := conversion.GDPToDelta(g, 0)
		if want := math.Tanh(epsilon / 2); err != nil || math.Abs(tv-want) > 1e-14 || tv < want*(1-1e-15) {
			t.Errorf("ε = %v: μ = %v has total variation %v, %v; want %v", epsilon, g.Mu, tv, err, want)
		}
	}
}
