package compose

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// optimal returns δ' of Kairouz, Oh and Viswanath, Theorem 3.3, at any ε: losses and probabilities
// in float64 by math.Lgamma.
func optimal(epsilon float64, k int, total float64) (delta float64) {
	choose := func(l int) float64 {
		a, _ := math.Lgamma(float64(k + 1))
		b, _ := math.Lgamma(float64(l + 1))
		c, _ := math.Lgamma(float64(k - l + 1))
		return a - b - c
	}
	for l := 0; l <= k; l++ {
		if loss := float64(k-2*l) * epsilon; loss > total {
			p := choose(l) + float64(k-l)*epsilon - float64(k)*math.Log1p(math.Exp(epsilon))
			delta += math.Exp(p) * -math.Expm1(total-loss)
		}
	}
	return delta
}

// The optimum is the theorem's in both directions, never above Theorem 2.10 of Rogers et al., whose
// closed form bounds it, and the grid of pld is just above it.
func TestRuleHomogeneousCompositionIsOptimal(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 44, 20))
	for range 20 {
		epsilon, k, delta := math.Exp(6*rng.Float64()-5), 1+rng.IntN(300), math.Exp(-25*rng.Float64()-1)
		each := 0.0
		if rng.IntN(2) == 0 {
			each = delta / float64(k) * rng.Float64()
		}
		list := []Mechanism{repeated(t, k)(Approx(eps(epsilon, each)))}
		got := by(t, "homogeneous", list, asked(t, EpsilonAt, delta)).Epsilon
		rest := -math.Expm1(math.Log1p(-delta) - float64(k)*math.Log1p(-each)) // 1 − (1−δ)/(1−δ_i)^k
		// Just below the greatest loss, δ moves by much within a unit of ε's last place.
		below, above := got*(1-1e-12), got*(1+1e-12)
		if least, most := optimal(epsilon, k, above), optimal(epsilon, k, below); got > 0 && most < rest*(1-1e-7) ||
			least > rest*(1+1e-7) {
			t.Errorf("%d times (%v, %v) at %v: ε = %v has δ' from %v to %v, not %v", k, epsilon, each, delta, got,
				least, most, rest)
		}
		closed := float64(k)*epsilon*math.Expm1(epsilon) +
			epsilon*math.Sqrt(2*float64(k)*-math.Log(delta-float64(k)*each))
		if got > min(closed, float64(k)*epsilon*(1+1e-15)) {
			t.Errorf("%d times (%v, %v) at %v: ε = %v, in closed form %v", k, epsilon, each, delta, got, closed)
		}
		back := by(t, "homogeneous", list, asked(t, DeltaAt, got)).Delta
		if less := by(t, "homogeneous", list, asked(t, DeltaAt, below)).Delta; got > 0 && less < delta*(1-1e-9) ||
			back > delta*(1+1e-12) {
			t.Errorf("%d times (%v, %v): ε = %v at %v has δ = %v", k, epsilon, each, got, delta, back)
		}
		if grid := by(t, "pld", list, asked(t, EpsilonAt, delta)).Epsilon; !(grid >= got*(1-1e-12) && grid <= got+
			1e-3*(got+1)) {
			t.Errorf("%d times (%v, %v) at %v: ε = %v, on a grid %v", k, epsilon, each, delta, got, grid)
		}
	}
}

// Best runs only accountants that can win; the least of all is not below its result by more than
// the grid of one δ raises it.
func TestBestIsTheLeastOfAllAccountants(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 45, 8))
	for range 8 {
		var list []Mechanism
		for range 1 + rng.IntN(3) {
			list = append(list, repeated(t, 1+rng.IntN(20))(drawn(rng)))
		}
		q := asked(t, EpsilonAt, math.Pow(10, -2-rng.Float64()*18))
		best, _, err := Best(list, q)
		all := must.Have(Compare(list, q))
		if err != nil || best.Loss.Epsilon > all[0].Loss.Epsilon*(1+1e-3) {
			t.Errorf("%+v: %s says %v (%v), %s %v", list, best.Accountant.Name(), best.Loss, err,
				all[0].Accountant.Name(), all[0].Loss)
		}
	}
}

// drawn returns a mechanism of any kind but zcdp.
func drawn(rng *rand.Rand) (Mechanism, error) {
	size := math.Exp(3*rng.Float64() - 0.5)
	switch rng.IntN(8) {
	case 0:
		return Gaussian(4*size, 1)
	case 1:
		return SampledGaussian(size, 1, 0.1*rng.Float64())
	case 2:
		return DiscreteGaussian(4*size, 1)
	case 3:
		return Laplace(size, 1)
	case 4:
		return SampledLaplace(size, 1, rng.Float64())
	case 5:
		return SparseVector(size, 2*size, 1, 1+rng.IntN(3), rng.IntN(2) == 0)
	case 6:
		return Exponential(size, 1)
	}
	return Approx(eps(1/size, 1e-22*rng.Float64()))
}
