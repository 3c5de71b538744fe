package conversion

import (
	"math"
	"math/big"

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
// rise. The error is a *units.RangeError.
func SampledGaussianToRDP(sigma, sampling float64, orders []float64) (loss.RDP, error) {
	if err := checkSampled(sigma, sampling); err != nil {
		return nil, err
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

// greatestSlope is the 1/σ² beyond which the terms below that of k = α add nothing: each is
// below 2^1084·e^-greatestSlope times the one above it.
const greatestSlope = 1 << 15

// sampledDivergence returns the divergence at an integer order. The sum is taken from its
// last term down, in units of the e^(k(k−1)/(2σ²)) that this one has, so that no number
// leaves the range of bigmath.Exp however small σ is: what is left is between q^α and 1. All
// terms are positive, and each has a relative error below 2^-150: e^(−1/σ²) has one below
// 2^-180 and is raised to a power below 2^18. A 1/σ² above greatestSlope is taken as that in
// what the other terms are smaller by, which enlarges them.
func sampledDivergence(sigma, sampling float64, alpha int) float64 {
	t := bigmath.New(float64(alpha - 1))
	inverse := bigmath.Zero().Quo(bigmath.New(1), bigmath.Square(sigma)) // 1/σ²
	whole := bigmath.Half(bigmath.Zero().Mul(inverse, bigmath.New(float64(alpha))))
	if sampling == 1 {
		return bigmath.RoundUp(whole.Add(whole, bigmath.Margin(whole)))
	}
	rest := bigmath.Zero().Sub(bigmath.New(1), bigmath.New(sampling))
	odds := bigmath.Zero().Quo(rest, bigmath.New(sampling))
	slope := least(inverse, bigmath.New(greatestSlope))
	step := bigmath.Exp(slope)
	shrink := bigmath.Exp(bigmath.Zero().Neg(bigmath.Zero().Mul(slope, t))) // e^(−(k−1)/σ²)
	term := power(bigmath.New(sampling), alpha)                             // q^α
	sum := bigmath.Zero().Set(term)
	for k := alpha; k > 0; k-- {
		term.Mul(term, odds)
		term.Mul(term, bigmath.New(float64(k)))
		term.Quo(term, bigmath.New(float64(alpha-k+1)))
		term.Mul(term, shrink) // k(k−1)/2 − (k−1)(k−2)/2 = k−1
		shrink.Mul(shrink, step)
		// To align numbers so far apart takes as many bits; the margin covers what is left out.
		if term.MantExp(nil) > sum.MantExp(nil)-bigmath.Bits {
			sum.Add(sum, term)
		}
	}
	log := bigmath.Log(sum)
	log.Add(log, whole.Mul(whole, t))
	if log.Sign() < 0 {
		log = bigmath.Zero()
	}
	// The error of a logarithm of this size, and of a sum as large as whole.
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
