package conversion

import (
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/state"
	"github.com/tollgate-dp/tollgate/state/internal/bigmath"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// MaxSampledOrder is the greatest order at which SampledGaussianToRDP knows a bound.
const MaxSampledOrder = 512

// SampledGaussianToRDP returns Rényi divergences of Gaussian noise of standard
// deviation sigma, for sensitivity 1, on a Poisson sample that takes each individual with
// probability sampling, in both directions, rounded up. At an integer order α it is
//
//	ln Σ_k C(α,k)·(1−q)^(α−k)·q^k·e^(k(k−1)/(2σ²)) / (α−1)
//
// (Mironov, Talwar and Zhang, 2019, Section 3.3 with Corollary 7); any other order is
// given the divergence of the next integer, which is no less, and an order above
// MaxSampledOrder +Inf. 2^-20 ≤ sigma ≤ 2^60, 0 < sampling ≤ 1; the orders are above 1, finite and
// rise. The error is a *state.RangeError.
func SampledGaussianToRDP(sigma, sampling float64, orders []float64) (loss.RDP, error) {
	if !(sigma >= 0x1p-20 && sigma <= 0x1p60) {
		return nil, &state.RangeError{Parameter: "sigma", Value: sigma, Range: "between 2^-20 and 2^60"}
	}
	if !(sampling > 0 && sampling <= 1) {
		return nil, &state.RangeError{Parameter: "sampling", Value: sampling, Range: "above 0 and at most 1"}
	}
	at, bound := 0, math.Inf(1) // orders rise: one integer serves all up to it
	return curve(orders, func(alpha float64) float64 {
		if alpha > MaxSampledOrder {
			return math.Inf(1)
		}
		if n := int(math.Ceil(alpha)); n != at {
			at, bound = n, sampledDivergence(sigma, sampling, n)
		}
		return bound
	})
}

// sampledDivergence returns the divergence at an integer order. All terms are positive, and
// each has a relative error below 2^-150: e^(1/σ²) has one below 2^-180 and is raised to
// a power below 2^18.
func sampledDivergence(sigma, sampling float64, alpha int) float64 {
	t := bigmath.New(float64(alpha - 1))
	inverse := bigmath.Zero().Quo(bigmath.New(1), bigmath.Square(sigma)) // 1/σ²
	if sampling == 1 {
		whole := bigmath.Half(inverse.Mul(inverse, bigmath.New(float64(alpha))))
		return bigmath.RoundUp(whole.Add(whole, bigmath.Margin(whole)))
	}
	rest := bigmath.Zero().Sub(bigmath.New(1), bigmath.New(sampling))
	odds := bigmath.Zero().Quo(bigmath.New(sampling), rest)
	step := bigmath.Exp(inverse) // e^(1/σ²)
	term := power(rest, alpha)   // (1−q)^α
	sum := bigmath.Zero().Set(term)
	growth := bigmath.New(1) // e^(k/σ²)
	for k := range alpha {
		term.Mul(term, odds)
		term.Mul(term, bigmath.New(float64(alpha-k)))
		term.Quo(term, bigmath.New(float64(k+1)))
		term.Mul(term, growth) // k(k+1)/2 − k(k−1)/2 = k
		growth.Mul(growth, step)
		sum.Add(sum, term)
	}
	// The logarithm of a sum that is not below 1, and its error.
	sum.Add(sum, bigmath.Margin(sum))
	if sum.Cmp(bigmath.New(1)) < 0 {
		return 0
	}
	log := bigmath.Log(sum)
	log.Add(log, bigmath.Margin(bigmath.Zero().Add(log, bigmath.New(1))))
	return bigmath.RoundUp(log.Quo(log, t))
}

func power(x *big.Float, n int) *big.Float {
	out := bigmath.New(1)
	for range n {
		out.Mul(out, x)
	}
	return out
}
