package conversion

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/tollgate-dp/tollgate/internal/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/internal/bigmath"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// MaxGroup is how many individuals a group has at most.
const MaxGroup = 1 << 20

func checkGroup(k int) error {
	return units.Require(k >= 1 && k <= MaxGroup, "group", float64(k), "an integer from 1 to 1048576")
}

// GDPForGroup returns what μ-GDP of one individual is for any k of them together, rounded up:
// k·μ (Dong, Roth and Su, 2022, Theorem 2.14 with Section 2.5), exact for Gaussian noise, of which
// the sensitivity is k times as great. k is from 1 to MaxGroup; the error is a *units.RangeError.
func GDPForGroup(g loss.GDP, k int) (loss.GDP, error) {
	if err := cmp.Or(g.Validate(), checkGroup(k)); err != nil {
		return loss.GDP{}, err
	}
	group := loss.GDP{Mu: rounding.ProductUp(g.Mu, float64(k))}
	return group, group.Validate()
}

// ZCDPForGroup returns what ρ-zCDP of one individual is for any k of them together, rounded up:
// k²·ρ (Bun and Steinke, 2016, Proposition 1.9), exact for Gaussian noise. The δ of z must be 0.
// k is from 1 to MaxGroup; the error is a *units.RangeError.
func ZCDPForGroup(z loss.ZCDP, k int) (loss.ZCDP, error) {
	if err := cmp.Or(z.Validate(), checkGroup(k)); err != nil {
		return loss.ZCDP{}, err
	}
	if z.Delta != 0 {
		return loss.ZCDP{}, &units.RangeError{Parameter: "delta", Value: z.Delta, Range: "0 for the zCDP of a group to follow"}
	}
	group := loss.ZCDP{Rho: rounding.ProductUp(z.Rho, float64(k)*float64(k))} // k² is exact
	return group, group.Validate()
}

// RDPForGroup returns Rényi divergences of any k individuals together, rounded up, where r has
// those of one: with 2^c the least power of two that is at least k, an order α of r, at least
// 2^(c+1), gives 3^c·ε at the order α/2^c (Mironov, 2017, Proposition 2). Smaller orders of r give
// nothing. Of a Rényi curve that is known to be linear, ZCDPForGroup says less.
//
// k is from 1 to MaxGroup; the error is a *units.RangeError, also where no order is great enough.
func RDPForGroup(r loss.RDP, k int) (loss.RDP, error) {
	if err := cmp.Or(r.Validate(), checkGroup(k)); err != nil {
		return nil, err
	}
	c := bits.Len(uint(k - 1))
	if c == 0 {
		return append(loss.RDP(nil), r...), nil
	}
	width, factor := math.Ldexp(1, c), math.Pow(3, float64(c)) // exact: 3^20 < 2^53
	var group loss.RDP
	for _, o := range r {
		if o.Alpha >= 2*width {
			group = append(group, loss.Order{Alpha: o.Alpha / width, Epsilon: rounding.ProductUp(o.Epsilon, factor)})
		}
	}
	if len(group) == 0 {
		return nil, &units.RangeError{Parameter: "orders", Value: r[len(r)-1].Alpha, Range: "one that is at least twice the group, rounded up to a power of two"}
	}
	return group, nil
}

// ApproxForGroup returns what (ε, δ)-DP of one individual is for any k of them together, rounded
// up: (k·ε, δ·(e^(kε) − 1)/(e^ε − 1)), and (0, k·δ) for ε = 0 (Dwork and Roth, 2014, Theorem 2.2,
// with the sum 1 + e^ε + … + e^((k−1)ε) of Vadhan, 2017, Lemma 2.2). It is exact for randomised
// response of which each of k individuals is one more step away, and not for Gaussian noise.
//
// k is from 1 to MaxGroup and k·ε at most budgets.MaxEpsilon; the error is a *units.RangeError,
// which names group where that is exceeded or the δ of the group is not below 1.
func ApproxForGroup(a loss.Approx, k int) (loss.Approx, error) {
	if err := cmp.Or(a.Validate(), checkGroup(k)); err != nil {
		return loss.Approx{}, err
	}
	group := loss.Approx{Epsilon: rounding.ProductUp(a.Epsilon, float64(k)), Delta: rounding.ProductUp(a.Delta, float64(k))}
	if group.Epsilon > budgets.MaxEpsilon {
		return loss.Approx{}, &units.RangeError{Parameter: "group", Value: float64(k), Range: "such that k·epsilon is at most 1e6"}
	}
	if k > 1 && a.Epsilon > 0 && a.Delta > 0 {
		whole := bigmath.Zero().Mul(bigmath.New(a.Epsilon), bigmath.New(float64(k)))
		sum := bigmath.Zero().Quo(bigmath.Expm1(whole), bigmath.Expm1(bigmath.New(a.Epsilon)))
		sum.Mul(sum, bigmath.New(a.Delta))
		group.Delta = max(group.Delta, bigmath.RoundUp(sum.Add(sum, bigmath.Margin(sum))))
	}
	if group.Delta >= 1 {
		return loss.Approx{}, &units.RangeError{Parameter: "group", Value: float64(k), Range: "small enough for the delta of the group to be below 1"}
	}
	return group, nil
}

// GroupTypeIIAt returns what TypeIIAt does for any k individuals together, rounded down: with
// g(α) = 1 − f(α), it is 1 − g(g(…g(α))), k times (Dong, Roth and Su, 2022, Theorem 2.14). For
// the curve of μ-GDP that is the one of k·μ. k is from 1 to MaxGroup; the error is a
// *units.RangeError.
func (t TradeOff) GroupTypeIIAt(k int, alpha float64) (beta float64, err error) {
	if err := checkGroup(k); err != nil {
		return 0, err
	}
	if g, ok := t.shape().(gaussian); ok {
		group, err := GDPForGroup(g.of, k)
		if err != nil {
			return 0, err
		}
		return TradeOff{gaussian{group}}.TypeIIAt(alpha)
	}
	if beta, err = t.TypeIIAt(alpha); err != nil {
		return 0, err
	}
	for ; k > 1 && beta > 0; k-- {
		// f falls: a greater α has a smaller β.
		beta = t.shape().typeII(bigmath.RoundUp(bigmath.Up().Sub(bigmath.New(1), bigmath.New(beta))))
	}
	return beta, nil
}
