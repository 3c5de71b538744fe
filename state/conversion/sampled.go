package conversion

import (
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// MaxSampledOrder is the greatest order at which SampledGaussianToRDP gives a bound. It is high
// enough for losses of 0.01, whose best orders are a few thousand.
const MaxSampledOrder = 1 << 14

// exactSampledOrder is the greatest order whose sum is computed in bigmath.
const exactSampledOrder = 512

// SampledGaussianToRDP returns Rényi divergences of Gaussian noise of standard deviation sigma, for
// sensitivity 1, on a Poisson sample that includes each individual with probability sampling, in
// both directions, rounded up. At an integer order α it is
//
//	ln Σ_k C(α,k)·(1−q)^(α−k)·q^k·e^(k(k−1)/(2σ²)) / (α−1)
//
// (Mironov, Talwar and Zhang, 2019, Section 3.3 with Corollary 7); any other order is given the
// divergence of the next integer, which is no less, and an order above MaxSampledOrder is given
// +Inf. Above order 512 a relative 1e-6 is added. 2^-20 ≤ sigma ≤ 2^60, 0 < sampling ≤ 1; the
// orders are above 1, finite and ascending. The error is a *units.RangeError.
func SampledGaussianToRDP(sigma, sampling float64, orders []float64) (loss.RDP, error) {
	if err := checkSampled(sigma, sampling); err != nil {
		return nil, err
	}
	order, bound := 0, math.Inf(1) // orders ascend, so one integer serves all orders up to it
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

// highDivergence returns the divergence at an integer order by logarithms in float64, which is
// hundreds of times faster. As the terms without their exponentials add up to 1, it is
//
//	ln(1 + Σ_(k=2..α) C(α,k)·(1−q)^(α−k)·q^k·(e^(k(k−1)/(2σ²)) − 1)) / (α−1).
//
// The parts of a logarithm have errors of at most 2^-45 of their sizes, and the logarithm of the
// binomial coefficient has half a unit in the last place of α for each of its k additions.
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
	// be a normal number: a divergence of 0 would mean that the two distributions are the same.
	total := max(greatest+math.Log(sum)+float64(len(logs)/exactSampledOrder)*0x1p-40, -700)
	// An error in total is at most as large in the result and, if the result is small, at most as
	// large relative to it.
	if total > 0 {
		return (total + math.Log1p(math.Exp(-total))) * (1 + 0x1p-40) / float64(alpha-1)
	}
	return math.Log1p(math.Exp(total)) * (1 + (1-total)*0x1p-40) / float64(alpha-1)
}

// greatestSlope is the 1/σ² beyond which the terms below k = α add nothing: each is below
// 2^1084·e^-greatestSlope times the one above it.
const greatestSlope = 1 << 15

// sampledDivergence returns the divergence at an integer order. The sum starts from its last term,
// in units of that term's e^(k(k−1)/(2σ²)), so that no number leaves the range of bigmath.Exp
// however small σ is: the remaining factor is between q^α and 1. All terms are positive, and each
// has a relative error below 2^-150: e^(−1/σ²) has one below 2^-180 and is raised to a power below
// 2^18. In the ratios of the other terms, a 1/σ² above greatestSlope counts as greatestSlope, which
// enlarges them.
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
	slope := least(inverse, bigmath.New(greatestSlope))
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
		// Adding numbers far apart takes as many bits as they are apart; the margin covers the
		// omitted terms.
		if term.MantExp(nil) > sum.MantExp(nil)-bigmath.Bits {
			sum.Add(sum, term)
		}
	}
	log := bigmath.Log(sum)
	log.Add(log, whole.Mul(whole, t))
	if log.Sign() < 0 {
		log = bigmath.Zero()
	}
	// The margin covers the error of a logarithm of this size, and of a sum as large as whole.
	log.Add(log, bigmath.Margin(bigmath.Zero().Add(log, bigmath.New(1))))
	return bigmath.RoundUp(log.Quo(log, t))
}
