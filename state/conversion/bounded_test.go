package conversion_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// twoOutcomes returns the probabilities of the first outcome under P and Q where the
// losses of the two outcomes are t and t−ε.
func twoOutcomes(epsilon, t float64) (p, q float64) {
	q = -math.Expm1(t-epsilon) / (math.Exp(t) - math.Exp(t-epsilon))
	return math.Exp(t) * q, q
}

// Rényi divergences are summed here over the pairs that are the worst of ε-bounded range: the
// conversion has the greatest at every order, and the least ρ that covers them all.
func TestBoundedRangeToZCDPAndRDPAreTheLeast(t *testing.T) {
	orders := []float64{1.001, 1.1, 1.5, 2, 3, 10, 50}
	for _, epsilon := range []float64{0.01, 0.1, 0.5, 1, 2, 5, 8, 12} {
		z := must.Have(conversion.BoundedRangeToZCDP(epsilon))
		greatest := 0.0
		for _, o := range must.Have(conversion.BoundedRangeToRDP(epsilon, orders)) {
			worst := 0.0
			for step := 1; step < 4000; step++ {
				shift := epsilon * float64(step) / 4000
				p, q := twoOutcomes(epsilon, shift)
				if math.Abs(p+(1-q)*math.Exp(shift-epsilon)-1) > 1e-9 {
					t.Fatalf("not a law: %v, %v", p, q)
				}
				moment := math.Expm1((o.Alpha-1)*shift)*p + math.Expm1((o.Alpha-1)*(shift-epsilon))*(1-p)
				worst = max(worst, math.Log1p(moment)/(o.Alpha-1))
			}
			if worst > o.Epsilon*(1+1e-9) || worst < o.Epsilon*(1-1e-4) {
				t.Errorf("epsilon %v, order %v: the worst pair has %v, the conversion %v", epsilon, o.Alpha, worst,
					o.Epsilon)
			}
			greatest = max(greatest, worst/o.Alpha)
		}
		if greatest > z.Rho*(1+1e-9) || greatest < z.Rho*(1-2e-3) {
			t.Errorf("epsilon %v: the worst pair has %v per order, the conversion %v", epsilon, greatest, z.Rho)
		}
	}
}

// x − 1 − ln x and the divergence of order 64 in mpmath with 40 digits.
func TestBoundedRangeAgreesWithMpmath(t *testing.T) {
	for epsilon, want := range map[float64][2]float64{
		1e-9: {1.250000000000000155686618e-19, 8.000000000000000548394352e-18},
		0.25: {0.007805727720808100790707924, 0.1921851409240986280572963},
		3:    {1.007505619862956577982029, 2.919048247755400985837456},
		40:   {35.31112054588606386283336, 39.91823762583567556389634},
	} {
		z, r := must.Have(conversion.BoundedRangeToZCDP(epsilon)), must.Have(conversion.BoundedRangeToRDP(epsilon,
			[]float64{64}))
		for i, got := range []float64{z.Rho, r[0].Epsilon} {
			if !(got >= want[i] && got <= want[i]*(1+4e-16)) {
				t.Errorf("epsilon %v: %v, want %v", epsilon, got, want[i])
			}
		}
	}
}

// TestBoundedRangeToGDPIsTheLeast looks for the greatest Φ⁻¹(p) − Φ⁻¹(q) of all pairs.
func TestBoundedRangeToGDPIsTheLeast(t *testing.T) {
	probit := func(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
	for _, epsilon := range []float64{0.01, 0.1, 0.5, 1, 2, 5, 12} {
		g := must.Have(conversion.BoundedRangeToGDP(epsilon))
		worst := 0.0
		for step := 1; step < 1000; step++ {
			p, q := twoOutcomes(epsilon, epsilon*float64(step)/1000)
			worst = max(worst, probit(p)-probit(q))
		}
		if worst > g.Mu*(1+1e-9) || worst < g.Mu*(1-1e-9) {
			t.Errorf("epsilon %v: the worst pair has %v, the bound is %v", epsilon, worst, g.Mu)
		}
	}
}

func TestBoundedRangeOfEpsilonsOutOfRange(t *testing.T) {
	for _, epsilon := range []float64{-1, math.NaN(), math.Inf(1), 2 * budgets.MaxEpsilon} {
		var bad *units.RangeError
		if _, err := conversion.BoundedRangeToZCDP(epsilon); !errors.As(err, &bad) {
			t.Errorf("zCDP of %v: %v", epsilon, err)
		}
		if _, err := conversion.BoundedRangeToGDP(epsilon); !errors.As(err, &bad) {
			t.Errorf("GDP of %v: %v", epsilon, err)
		}
	}
	for _, epsilon := range []float64{0, 5e-324, 1e-200, 20, 1000} {
		bounded := must.Have(conversion.BoundedRangeToZCDP(epsilon))
		if pure, err := conversion.PureToZCDP(epsilon); err != nil || bounded.Rho > pure.Rho ||
			(epsilon > 0) != (bounded.Rho > 0) {
			t.Errorf("epsilon %v: %v, as pure %v, %v", epsilon, bounded, pure, err)
		}
	}
	if g, err := conversion.BoundedRangeToGDP(0); err != nil || g != (loss.GDP{}) {
		t.Errorf("of 0: %v, %v", g, err)
	}
}
