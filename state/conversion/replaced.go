package conversion

import (
	"cmp"
	"math"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// GaussianWithoutReplacementToRDP returns Rényi divergences, rounded up, of Gaussian noise with
// standard deviation sigma on a sample of fixed size without replacement. The sample contains a
// fraction sampling = m/n of n individuals. Neighbouring inputs differ by the replacement of one
// individual, which changes the value of a sample by at most 1. With ε(j) = j/(2σ²), the divergence
// without sampling, the result at an integer order α is the lesser of ε(α) and
//
//	ln(1 + q²·C(α,2)·min(4(e^ε(2) − 1), 2e^ε(2)) + Σ_(j=3..α) 2·q^j·C(α,j)·e^((j−1)·ε(j))) / (α−1)
//
// (Wang, Balle and Kasiviswanathan, 2019, Theorem 9, with ε(∞) = ∞). The result at any other order
// is that of the next integer; above order 512, it is the divergence without sampling. The orders
// must be above 1, finite and ascending. The error is a *units.RangeError, also unless 2^-20 ≤
// sigma ≤ 2^60 and 0 < sampling ≤ 1.
func GaussianWithoutReplacementToRDP(sigma, sampling float64, orders []float64) (loss.RDP, error) {
	if err := checkSampled(sigma, sampling); err != nil {
		return nil, err
	}
	whole, err := linearRDP(bigmath.Half(bigmath.Zero().Quo(bigmath.New(1), bigmath.Square(sigma))), orders)
	if err != nil || sampling == 1 {
		return whole, err
	}
	order, bound := 0, math.Inf(1)
	for i, o := range whole {
		if o.Alpha > exactSampledOrder {
			break
		}
		if n := int(math.Ceil(o.Alpha)); n != order {
			order, bound = n, replacedDivergence(sigma, sampling, n)
		}
		whole[i].Epsilon = min(o.Epsilon, bound)
	}
	return whole, nil
}

// replacedDivergence returns the divergence at an integer order. The logarithm of each term
// includes a margin for its error: 2^-45 times the sizes of its parts and α.
func replacedDivergence(sigma, sampling float64, alpha int) float64 {
	slope := 1 / (2 * sigma * sigma)
	logs := make([]float64, 0, alpha)
	binomial, logQ := math.Log(float64(alpha)), math.Log(sampling)
	for j := 2; j <= alpha; j++ {
		binomial += math.Log(float64(alpha-j+1) / float64(j))
		exponent := float64(j) * float64(j-1) * slope
		factor := math.Ln2
		if j == 2 {
			if small := -math.Expm1(-exponent); small < 0.5 { // 4(e^ε − 1) = 4e^ε·(1 − e^−ε)
				factor = math.Log(4 * small)
			}
		}
		size := math.Abs(factor) + exponent + float64(j)*math.Abs(logQ) + 2*float64(alpha)
		log := factor + exponent + float64(j)*logQ + binomial + size*0x1p-45
		logs = append(logs, log)
	}
	return divergenceOfLogs(logs, alpha)
}

// SampledPure returns the least ε' for which every ε-DP mechanism on a Poisson sample is ε'-DP,
// rounded up: ln(1 + q·(e^ε − 1)) (Balle, Barthe and Gaboardi, 2018, Theorem 8). Every individual
// is in the sample with probability q = sampling, and neighbours differ by one added or removed
// individual. The error is a *units.RangeError unless 0 < q ≤ 1 and 0 ≤ ε ≤ budgets.MaxEpsilon.
func SampledPure(epsilon, sampling float64) (float64, error) {
	if err := cmp.Or(checkEpsilon(epsilon), checkSampling(sampling)); err != nil {
		return 0, err
	}
	if epsilon == 0 || sampling == 1 {
		return epsilon, nil
	}
	rise := bigmath.Zero().Mul(bigmath.Expm1(bigmath.New(epsilon)), bigmath.New(sampling))
	if rise.MantExp(nil) < -64 {
		return min(epsilon, bigmath.RoundUp(rise.Add(rise, bigmath.Margin(rise)))), nil // ln(1 + x) < x
	}
	log := bigmath.Log(rise.Add(rise, bigmath.New(1)))
	return min(epsilon, bigmath.RoundUp(log.Add(log, bigmath.Margin(bigmath.New(1))))), nil
}

func checkSampled(sigma, sampling float64) error {
	return cmp.Or(
		units.Require(sigma >= 0x1p-20 && sigma <= 0x1p60, "sigma", sigma, "between 2^-20 and 2^60"),
		checkSampling(sampling),
	)
}

func checkSampling(sampling float64) error {
	return units.Require(sampling > 0 && sampling <= 1, "sampling", sampling, "above 0 and at most 1")
}
