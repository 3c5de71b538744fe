package conversion

import (
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// MaxSampledOrder is the greatest order at which SampledGaussianToRDP returns a finite bound. It is
// high enough for losses of 0.01, for which the best orders are a few thousand.
const MaxSampledOrder = 1 << 14

// exactSampledOrder is the greatest order for which the sum is computed with package bigmath.
const exactSampledOrder = 512

// SampledGaussianToRDP returns Rényi divergences, in both directions and rounded up, of Gaussian
// noise with standard deviation sigma for sensitivity 1 on a Poisson sample. The sample includes
// each individual with probability sampling. At an integer order α, the divergence is
//
//	ln Σ_k C(α,k)·(1−q)^(α−k)·q^k·e^(k(k−1)/(2σ²)) / (α−1)
//
// (Mironov, Talwar and Zhang, 2019, Section 3.3 with Corollary 7). The result at any other order is
// that of the next integer, which is an upper bound, and +Inf above MaxSampledOrder. Above order
// 512, a relative 1e-6 is added. The orders must be above 1, finite and ascending. The error is a
// *units.RangeError, also unless 2^-20 ≤ sigma ≤ 2^60 and 0 < sampling ≤ 1.
func SampledGaussianToRDP(sigma, sampling float64, orders []float64) (loss.RDP, error) {
	if err := checkSampled(sigma, sampling); err != nil {
		return nil, err
	}
	order, bound := 0, math.Inf(1) // orders ascend, so all orders up to an integer come together
	return curve(orders, func(alpha float64) float64 {
		if alpha > MaxSampledOrder {
			return math.Inf(1)
		}
		if n := int(math.Ceil(alpha)); n != order {
			order, bound = n, sampledDivergence(sigma, sampling, n)
		}
		return bound
	})
}

// highDivergence returns the divergence at an integer order, computed with float64 logarithms,
// which is hundreds of times faster. As the terms without their exponentials add up to 1, it is
//
//	ln(1 + Σ_(k=2..α) C(α,k)·(1−q)^(α−k)·q^k·(e^(k(k−1)/(2σ²)) − 1)) / (α−1).
//
// The parts of a term's logarithm have errors of at most 2^-45 times their sizes. The logarithm of
// the binomial coefficient has, in addition, an error of half a unit in the last place of α for
// each of its k additions.
func highDivergence(sigma, sampling float64, alpha int) float64 {
	slope := 1 / (2 * sigma * sigma)
	logs := make([]float64, 0, alpha)
	n := float64(alpha)
	binomial, in, out := math.Log(n), math.Log(sampling), math.Log1p(-sampling)
	for k := 2.0; k <= n; k++ {
		binomial += math.Log((n - k + 1) / k)
		exponent := k * (k - 1) * slope
		rise := math.Log(-math.Expm1(-exponent)) // ln(e^x − 1) = x + rise
		size := exponent + k*-in + (n-k)*-out - rise + 2*n
		logs = append(logs, exponent+rise+k*in+(n-k)*out+binomial+size*0x1p-45+k*n*0x1p-52)
	}
	return divergenceOfLogs(logs, alpha)
}

// divergenceOfLogs returns ln(1 + Σ e^log)/(α−1), rounded up.
func divergenceOfLogs(logs []float64, alpha int) float64 {
	greatest, sum := slices.Max(logs), 0.0
	for _, log := range logs {
		sum += math.Exp(log - greatest)
	}
	// total is the logarithm of the sum that is added to 1. It is kept large enough for e^total to
	// be a normal number, because a divergence of 0 would mean that both distributions are equal.
	total := max(greatest+math.Log(sum)+float64(len(logs)/exactSampledOrder)*0x1p-40, -700)
	// An error in total causes at most the same absolute error in the result and, if the result is
	// small, at most the same relative error.
	if total > 0 {
		return (total + math.Log1p(math.Exp(-total))) * (1 + 0x1p-40) / float64(alpha-1)
	}
	return math.Log1p(math.Exp(total)) * (1 + (1-total)*0x1p-40) / float64(alpha-1)
}

// maxSlope is the 1/σ² above which the terms for k < α are negligible: each is below
// 2^1084·e^-maxSlope times the term for k + 1.
const maxSlope = 1 << 15

// sampledDivergence returns the divergence at an integer order. The sum starts from its last term,
// k = α, and is in units of that term's e^(k(k−1)/(2σ²)). So no number leaves the range of
// bigmath.Exp, even for small σ: the remaining factor is between q^α and 1. All terms are positive,
// and each has a relative error below 2^-150, because e^(−1/σ²) has a relative error below 2^-180
// and is raised to a power below 2^18. In the ratios of the other terms, a 1/σ² above maxSlope
// counts as maxSlope, which increases the terms.
func sampledDivergence(sigma, sampling float64, alpha int) float64 {
	t := bigmath.New(float64(alpha - 1))
	inverse := bigmath.Zero().Quo(bigmath.New(1), bigmath.Square(sigma)) // 1/σ²
	whole := bigmath.Half(bigmath.Zero().Mul(inverse, bigmath.New(float64(alpha))))
	if sampling == 1 {
		return bigmath.RoundUp(whole.Add(whole, bigmath.Margin(whole)))
	}
	if alpha > exactSampledOrder {
		return highDivergence(sigma, sampling, alpha)
	}
	rest := bigmath.Zero().Sub(bigmath.New(1), bigmath.New(sampling))
	odds := bigmath.Zero().Quo(rest, bigmath.New(sampling))
	slope := least(inverse, bigmath.New(maxSlope))
	step := bigmath.Exp(slope)
	shrink := bigmath.Exp(bigmath.Zero().Neg(bigmath.Zero().Mul(slope, t))) // e^(−(k−1)/σ²)
	term := bigmath.Power(bigmath.New(sampling), alpha)                     // q^α
	sum := bigmath.Zero().Set(term)
	for k := alpha; k > 0; k-- {
		term.Mul(term, odds)
		term.Mul(term, bigmath.New(float64(k)))
		term.Quo(term, bigmath.New(float64(alpha-k+1)))
		term.Mul(term, shrink) // k(k−1)/2 − (k−1)(k−2)/2 = k−1
		shrink.Mul(shrink, step)
		// Adding a much smaller term would take many bits. The margin below covers such terms.
		if term.MantExp(nil) > sum.MantExp(nil)-bigmath.Bits {
			sum.Add(sum, term)
		}
	}
	log := bigmath.Log(sum)
	log.Add(log, whole.Mul(whole, t))
	if log.Sign() < 0 {
		log = bigmath.Zero()
	}
	// The margin covers the errors of log and of whole.
	log.Add(log, bigmath.Margin(bigmath.Zero().Add(log, bigmath.New(1))))
	return bigmath.RoundUp(log.Quo(log, t))
}
