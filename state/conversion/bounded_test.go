package conversion_test

import (
	"errors"
	"math"
	"testing"

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

// TestBoundedRangeToZCDPBoundsEveryPairOfTwoOutcomes compares with Rényi divergences that are
// summed here, over the pairs that are the worst of ε-bounded range.
func TestBoundedRangeToZCDPBoundsEveryPairOfTwoOutcomes(t *testing.T) {
	for _, epsilon := range []float64{0.01, 0.1, 0.5, 1, 2, 5, 8, 12} {
		z := must(conversion.BoundedRangeToZCDP(epsilon))
		worst := 0.0
		for step := 1; step < 400; step++ {
			shift := epsilon * float64(step) / 400
			p, q := twoOutcomes(epsilon, shift)
			for _, alpha := range []float64{1.001, 1.1, 1.5, 2, 3, 10, 50} {
				moment := math.Exp((alpha-1)*shift)*p + math.Exp((alpha-1)*(shift-epsilon))*(1-p)
				if math.Abs(p+(1-q)*math.Exp(shift-epsilon)-1) > 1e-9 {
					t.Fatalf("not a law: %v, %v", p, q)
				}
				worst = max(worst, math.Log(moment)/(alpha-1)/alpha)
			}
		}
		t.Logf("epsilon %g: rho %.6g, the worst pair %.6g", epsilon, z.Rho, worst)
		if worst > z.Rho*(1+1e-9) {
			t.Errorf("epsilon %v: a pair has %v, the bound is %v", epsilon, worst, z.Rho)
		}
		// The greatest Kullback-Leibler divergence of all pairs is x − 1 − ln x,
		// x = ε/(1 − e^−ε); no order has more per α (Harrison and Manurangsi, 2026).
		x := epsilon / -math.Expm1(-epsilon)
		if kl := x - 1 - math.Log(x); math.Abs(worst-kl) > 2e-3*kl {
			t.Errorf("epsilon %v: the worst pair has %v, in closed form %v", epsilon, worst, kl)
		}
		if epsilon <= 1 && worst < 0.95*z.Rho {
			t.Errorf("epsilon %v: no pair has more than %v, the bound is %v", epsilon, worst, z.Rho)
		}
	}
}

// TestBoundedRangeToGDPIsTheLeast looks for the greatest Φ⁻¹(p) − Φ⁻¹(q) of all pairs.
func TestBoundedRangeToGDPIsTheLeast(t *testing.T) {
	probit := func(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
	for _, epsilon := range []float64{0.01, 0.1, 0.5, 1, 2, 5, 12} {
		g := must(conversion.BoundedRangeToGDP(epsilon))
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

// TestBoundedRangeToGDPAgreesWithMpmath: the greatest Φ⁻¹(p) − Φ⁻¹(q) over t, by golden-section
// search in mpmath with 25 digits.
func TestBoundedRangeToGDPAgreesWithMpmath(t *testing.T) {
	for epsilon, want := range map[float64]float64{0.1: 0.062662905541003145, 1: 0.62389259209850819, 5: 2.8669904674765064} {
		g, err := conversion.BoundedRangeToGDP(epsilon)
		if err != nil || math.Abs(g.Mu-want) > 4e-16*want {
			t.Errorf("epsilon %v: %v, %v, want %v", epsilon, g.Mu, err, want)
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
		bounded := must(conversion.BoundedRangeToZCDP(epsilon))
		if pure, err := conversion.PureToZCDP(epsilon); err != nil || bounded.Rho > pure.Rho || (epsilon > 0) != (bounded.Rho > 0) {
			t.Errorf("epsilon %v: %v, as pure %v, %v", epsilon, bounded, pure, err)
		}
	}
	if g, err := conversion.BoundedRangeToGDP(0); err != nil || g != (loss.GDP{}) {
		t.Errorf("of 0: %v, %v", g, err)
	}
}
