package conversion

import (
	"cmp"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// maxOrder replaces greater orders in formulas. A Rényi divergence never decreases with the order,
// so a bound at a greater order also holds at maxOrder.
const maxOrder = 0x1p64

// RDPToEpsilon returns the least ε ≥ 0 at which one of a Rényi curve's orders implies (ε, δ)-DP,
// rounded up. It is the least of
//
//	γ + ln((α−1)/α) − (ln δ + ln α)/(α−1)
//
// (Canonne, Kamath and Steinke, 2020, Proposition 12; Lemma C.4 in Koskela, Tobaben and Honkela),
// where γ is the divergence of order α. It is +Inf, which promises nothing, if every divergence is
// +Inf. The error is a *units.RangeError, also unless budgets.MinDelta ≤ δ < 1.
func RDPToEpsilon(r loss.RDP, delta float64) (epsilon float64, err error) {
	if err := cmp.Or(r.Validate(), budgets.CheckDelta(delta)); err != nil {
		return 0, err
	}
	if equalDistributions(r) {
		return 0, nil
	}
	logDelta := math.Log(delta)
	candidates := bestOrders(r, func(t, gamma float64) (value, scale float64) {
		logs := math.Log(t) - math.Log1p(t)
		tail := (logDelta + math.Log1p(t)) / t
		return gamma + logs - tail, gamma + math.Log1p(t) + math.Abs(math.Log(t)) + (math.Log1p(t)-logDelta)/t
	})
	bigLogDelta := bigmath.Log(bigmath.New(delta))
	best := math.Inf(1)
	for _, o := range candidates {
		best = min(best, epsilonAtOrder(o, bigLogDelta))
	}
	return best, nil
}

// epsilonAtOrder returns the ε for one order, at least 0. The errors of the terms are below 2^-180
// times their sizes. The result includes a margin of 2^-140 times all sizes plus 2^-140/(α−1),
// which also covers the error with which δ at this ε is computed.
func epsilonAtOrder(o loss.Order, logDelta *big.Float) float64 {
	alpha := bigmath.New(min(o.Alpha, maxOrder))
	t := bigmath.Zero().Sub(alpha, bigmath.New(1))
	logT, logAlpha := bigmath.Log(t), bigmath.Log(alpha)

	size := bigmath.New(1)
	size.Add(size, logAlpha)
	size.Sub(size, logDelta)
	size.Quo(size, t)
	size.Add(size, bigmath.Zero().Abs(logT))
	size.Add(size, logAlpha)
	size.Add(size, bigmath.New(o.Epsilon))

	tail := bigmath.Zero().Add(logDelta, logAlpha)
	tail.Quo(tail, t)
	sum := bigmath.Zero().Sub(logT, logAlpha)
	sum.Sub(sum, tail)
	sum.Add(sum, bigmath.New(o.Epsilon))
	sum.Add(sum, bigmath.Margin(size))
	return max(bigmath.RoundUp(sum), 0)
}

// RDPToDelta returns the least δ for which one of a Rényi curve's orders implies (ε, δ)-DP, rounded
// up. It is the least of 1 and e^((α−1)(γ−ε))/α·(1−1/α)^(α−1) (sources as for RDPToEpsilon). The
// error is a *units.RangeError, also unless 0 ≤ ε ≤ budgets.MaxEpsilon.
func RDPToDelta(r loss.RDP, epsilon float64) (delta float64, err error) {
	if err := cmp.Or(r.Validate(), checkEpsilon(epsilon)); err != nil {
		return 0, err
	}
	if equalDistributions(r) {
		return 0, nil
	}
	candidates := bestOrders(r, func(t, gamma float64) (value, scale float64) {
		gain, shape := t*(gamma-epsilon), t*math.Log1p(1/t)
		return gain - shape - math.Log1p(t), t*(gamma+epsilon) + shape + math.Log1p(t)
	})
	best := 1.0
	for _, o := range candidates {
		t := bigmath.New(min(o.Alpha, maxOrder))
		t.Sub(t, bigmath.New(1))
		delta := bigmath.RenyiDelta(t, bigmath.New(o.Epsilon), bigmath.New(epsilon))
		best = min(best, bigmath.RoundUp(bigmath.Upward(delta)))
	}
	return best, nil
}

// equalDistributions reports whether a divergence is 0, in which case both distributions are equal.
func equalDistributions(r loss.RDP) bool {
	for _, o := range r {
		if o.Epsilon == 0 {
			return true
		}
	}
	return false
}

// bestOrders returns the orders at which bound, a function of α − 1 and the divergence, may be
// least. It uses float64 values and the sizes of their terms, which bound the errors. Every order
// gives a valid result, so omitting an order affects only tightness.
func bestOrders(r loss.RDP, bound func(t, gamma float64) (value, scale float64)) loss.RDP {
	const accuracy = 1e-12
	lows, least := make([]float64, len(r)), math.Inf(1)
	for i, o := range r {
		lows[i] = math.Inf(1)
		if math.IsInf(o.Epsilon, 1) {
			continue
		}
		value, scale := bound(min(o.Alpha, maxOrder)-1, o.Epsilon)
		if math.IsNaN(value - accuracy*scale) {
			continue
		}
		lows[i] = value - accuracy*scale
		least = min(least, value+accuracy*scale)
	}
	var best loss.RDP
	for i, o := range r {
		if lows[i] <= least && !math.IsInf(o.Epsilon, 1) {
			best = append(best, o)
		}
	}
	return best
}
