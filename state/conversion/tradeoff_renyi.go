package conversion

import (
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/state/internal/bigmath"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// segment is a straight piece of a curve: the logarithm of how steeply it falls, and
// the length of α on which it does, not below the true one. Steepness 0 and the jump
// at α = 0 where f(0) < 1 are not segments.
type segment struct {
	logSlope *big.Float
	length   *big.Float
}

// divergence returns an upper bound of ln(Σ length·slope^power)/(α−1), the Rényi
// divergence of order α of the pair whose curve the segments are: in one direction
// with power 1 − α, in the other with power α.
func divergence(segments []segment, power, t *big.Float) float64 {
	// A term below e^-faded of the greatest is taken as that.
	const faded = 5000
	exponents := make([]*big.Float, len(segments))
	var greatest *big.Float
	for i, s := range segments {
		exponents[i] = bigmath.Zero().Mul(s.logSlope, power)
		if greatest == nil || exponents[i].Cmp(greatest) > 0 {
			greatest = exponents[i]
		}
	}
	if greatest == nil {
		return math.Inf(1)
	}
	sum, floor := bigmath.Zero(), bigmath.New(-faded)
	for i, s := range segments {
		e := bigmath.Zero().Sub(exponents[i], greatest)
		if e.Cmp(floor) < 0 {
			e = floor
		}
		sum.Add(sum, e.Mul(bigmath.Exp(e), s.length))
	}
	// Errors are below 2^-340 of the sizes added here, and of 1.
	log := bigmath.Log(sum)
	size := bigmath.New(0x1p-100)
	size.Add(size, bigmath.Zero().Abs(greatest))
	size.Add(size, bigmath.Zero().Abs(log))
	log.Add(log, greatest)
	log.Add(log, bigmath.Margin(size))
	return max(bigmath.RoundUp(log.Quo(log, t)), 0)
}

// steepest returns an upper bound of the divergence of order ∞, the greatest logarithm
// of a slope, or with sign −1 of its inverse.
func steepest(segments []segment, sign float64) float64 {
	bound := 0.0
	for _, s := range segments {
		log := bigmath.Zero().Mul(s.logSlope, bigmath.New(sign))
		log.Add(log, bigmath.Margin(log))
		bound = max(bound, bigmath.RoundUp(log))
	}
	return bound
}

// polygonRDP returns the lesser of both directions at every order. A direction in
// which some event gives the individual away is left out.
func polygonRDP(segments []segment, certainI, certainII bool, orders []float64) (loss.RDP, error) {
	return curve(orders, func(alpha float64) float64 {
		bound := math.Inf(1)
		order := bigmath.New(alpha)
		t := bigmath.Zero().Sub(order, bigmath.New(1))
		if !certainII {
			bound = steepest(segments, -1)
			if alpha <= maxOrder {
				bound = min(bound, divergence(segments, bigmath.Zero().Neg(t), t))
			}
		}
		if !certainI {
			other := steepest(segments, 1)
			if alpha <= maxOrder {
				other = min(other, divergence(segments, order, t))
			}
			bound = min(bound, other)
		}
		return bound
	})
}
