package conversion

import (
	"cmp"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// MaxGroup is the maximum number of individuals in a group.
const MaxGroup = 1 << 20

func checkGroup(k int) error {
	return units.Require(k >= 1 && k <= MaxGroup, "group", float64(k), "an integer from 1 to 1048576")
}

// ZCDPForGroup returns the zCDP for any k individuals together, given ρ-zCDP for each individual.
// It is k²·ρ, rounded up (Bun and Steinke, 2016, Proposition 1.9), which is exact for Gaussian
// noise. The δ of z must be 0, and k from 1 to MaxGroup. The error is a *units.RangeError.
func ZCDPForGroup(z loss.ZCDP, k int) (loss.ZCDP, error) {
	if err := cmp.Or(z.Validate(), checkGroup(k)); err != nil {
		return loss.ZCDP{}, err
	}
	if z.Delta != 0 {
		return loss.ZCDP{}, &units.RangeError{Parameter: "delta", Value: z.Delta, Range: "0 for the zCDP of a group " +
			"to follow"}
	}
	group := loss.ZCDP{Rho: rounding.ProductUp(z.Rho, float64(k)*float64(k))} // k² is exact
	return group, group.Validate()
}

// ApproxForGroup returns the guarantee for any k individuals together, given (ε, δ)-DP for each
// individual. It is (k·ε, δ·(e^(kε) − 1)/(e^ε − 1)), or (0, k·δ) for ε = 0, rounded up (Dwork and
// Roth, 2014, Theorem 2.2, with the sum 1 + e^ε + … + e^((k−1)ε) of Vadhan, 2017, Lemma 2.2). It is
// exact for randomised response if each of the k individuals adds one step, not for Gaussian noise.
//
// The error is a *units.RangeError unless k is from 1 to MaxGroup and k·ε is at most
// budgets.MaxEpsilon. It names group if k·ε is too large or the group's δ is not below 1.
func ApproxForGroup(a loss.Approx, k int) (loss.Approx, error) {
	if err := cmp.Or(a.Validate(), checkGroup(k)); err != nil {
		return loss.Approx{}, err
	}
	group := loss.Approx{Epsilon: rounding.ProductUp(a.Epsilon, float64(k)), Delta: rounding.ProductUp(a.Delta,
		float64(k))}
	if group.Epsilon > budgets.MaxEpsilon {
		return loss.Approx{}, &units.RangeError{Parameter: "group", Value: float64(k),
			Range: "such that k·epsilon is at most 1e6"}
	}
	if k > 1 && a.Epsilon > 0 && a.Delta > 0 {
		exponent := bigmath.Zero().Mul(bigmath.New(a.Epsilon), bigmath.New(float64(k)))
		sum := bigmath.Zero().Quo(bigmath.Expm1(exponent), bigmath.Expm1(bigmath.New(a.Epsilon)))
		sum.Mul(sum, bigmath.New(a.Delta))
		group.Delta = max(group.Delta, bigmath.RoundUp(sum.Add(sum, bigmath.Margin(sum))))
	}
	if group.Delta >= 1 {
		return loss.Approx{}, &units.RangeError{Parameter: "group", Value: float64(k),
			Range: "small enough for the delta of the group to be below 1"}
	}
	return group, nil
}
