package budgets

import (
	"math"
	"math/big"
	"sync"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/state/units"
)

// The reference below shares nothing with delta.go and package bigmath: 4,096 bits, the textbook
// formula Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2) unchanged, every Φ by its Taylor series whatever its
// argument, e^x by plain Taylor, π by Machin. The width of the numbers absorbs all cancellation.
const refBits = 4096

func refInt(n int64) *big.Float { return new(big.Float).SetPrec(refBits).SetInt64(n) }

func refNew() *big.Float { return new(big.Float).SetPrec(refBits) }

func refExp(x *big.Float) *big.Float {
	abs := refNew().Abs(x)
	sum, term := refInt(1), refInt(1)
	for n := int64(1); term.MantExp(nil) > sum.MantExp(nil)-refBits; n++ {
		term.Mul(term, abs)
		term.Quo(term, refInt(n))
		sum.Add(sum, term)
	}
	if x.Sign() < 0 {
		sum.Quo(refInt(1), sum)
	}
	return sum
}

var refRootTau = sync.OnceValue(func() *big.Float {
	arctanOfInverse := func(q int64) *big.Float {
		sum, power := refNew(), refNew().Quo(refInt(1), refInt(q))
		for n := int64(0); power.MantExp(nil) > -refBits; n++ {
			term := refNew().Quo(power, refInt(2*n+1))
			if n%2 == 1 {
				term.Neg(term)
			}
			sum.Add(sum, term)
			power.Quo(power, refInt(q*q))
		}
		return sum
	}
	quarter := refNew().Mul(refInt(4), arctanOfInverse(5))
	quarter.Sub(quarter, arctanOfInverse(239))
	return quarter.Sqrt(quarter.Mul(quarter, refInt(8)))
})

func refPhi(x *big.Float) *big.Float {
	square := refNew().Mul(x, x)
	term := refNew().Quo(x, refRootTau())
	sum := refNew().Set(term)
	half := refNew().Quo(square, refInt(2))
	for n := int64(1); term.Sign() != 0 && term.MantExp(nil) > -refBits; n++ {
		// term_n = (−1)^n·x^(2n+1)/(2^n·n!·(2n+1)·√(2π))
		term.Mul(term, half)
		term.Quo(term, refInt(-n))
		sum.Add(sum, refNew().Quo(term, refInt(2*n+1)))
	}
	return sum.Add(sum, refNew().SetFloat64(0.5))
}

func refGaussianDelta(m units.Mu2, epsilon float64) *big.Float {
	mu := refNew().SetUint64(uint64(m))
	mu.SetMantExp(mu, -40)
	mu.Sqrt(mu)
	eps := refNew().SetFloat64(epsilon)
	half := refNew().Quo(mu, refInt(2))
	ratio := refNew().Quo(eps, mu)
	first := refPhi(refNew().Sub(half, ratio))
	second := refPhi(refNew().Neg(refNew().Add(half, ratio)))
	return first.Sub(first, second.Mul(second, refExp(eps)))
}

// Bounds are bounds, and tight ones, over the whole range of budgets.
func TestGaussianDeltaAgreesWithTextbookFormula(t *testing.T) {
	widest := refNew().SetMantExp(refInt(1), 2-140)
	for _, epsilon := range []float64{1e-6, 0.01, 1, 10, 200} {
		for _, bits := range []int{1, 12, 24, 30, 36, 40, 44, 49} {
			m := units.Mu2(1)<<bits + 12345
			if a := epsilon/m.Mu() - m.Mu()/2; a > 38 || a < -40 {
				continue // δ below 1e-300, or 1
			}
			want := refGaussianDelta(m, epsilon)
			got := deltaUpper(bigFromMu2(m), epsilon, GDP)
			excess := refNew().Sub(got, want)
			excess.Quo(excess, want)
			if excess.Sign() < 0 || excess.Cmp(widest) > 0 {
				t.Errorf("δ of %d units at ε = %v: %v, want %v: relative excess %v",
					m, epsilon, got.Text('g', 20), want.Text('g', 20), excess.Text('g', 5))
			}
		}
	}
}

// zcdpLog returns the logarithm of the bound at order α, as privacy texts print it.
func zcdpLog(rho, epsilon, alpha float64) float64 {
	return (alpha-1)*(alpha*rho-epsilon) - math.Log(alpha-1) + alpha*math.Log1p(-1/alpha)
}

func TestZCDPDeltaIsTheInfimumOverOrders(t *testing.T) {
	for _, tc := range []struct{ rho, epsilon float64 }{
		{0.02, 1}, {0.02, 0.5}, {1e-6, 0.01}, {0.5, 4}, {3, 30}, {12, 190}, {0.2, 0.1}, {1e-9, 1e-4},
	} {
		got := deltaUpper(bigmath.New(2*tc.rho), tc.epsilon, ZCDP)
		f, _ := got.Float64()
		best := math.Inf(1)
		for s := -12.0; s < 30; s += 0.001 {
			best = math.Min(best, zcdpLog(tc.rho, tc.epsilon, 1+math.Exp(s)))
		}
		// A grid of step h in ln(α−1) misses the minimum by at most h²/8·g''.
		if log := math.Log(f); log > best+1e-9*math.Abs(best)+1e-9 || log < best-1e-6*math.Abs(best)-1e-3 {
			t.Errorf("ρ = %v, ε = %v: ln δ = %v, best order on a grid %v", tc.rho, tc.epsilon, log, best)
		}
	}
}
