package conversion

import (
	"cmp"
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ApproxZCDPToEpsilon returns an ε at which δ₀-approximate ρ-zCDP is (ε, δ)-DP, rounded up. It is
// the ε of ρ-zCDP at (δ − δ₀)/(1 − δ₀), by the best Rényi order (Koskela et al., Lemma C.4).
//
// Proof. The events E and E' of the definition may be reduced by an independent coin until both
// have probability 1 − δ₀, which does not change the conditional distributions. Then
//
//	P(S) ≤ (1−δ₀)·(e^ε·Q(S|E') + δ_ρ(ε)) + δ₀ ≤ e^ε·Q(S) + δ₀ + (1−δ₀)·δ_ρ(ε),
//
// with equality possible outside E.
//
// The optimum over all ρ-zCDP mechanisms is not known. The result is the best that a single order
// gives by that lemma.
//
// A positive ρ below budgets.MinMu²/2 counts as budgets.MinMu²/2. The error is a *units.RangeError
// unless 0 ≤ ρ ≤ budgets.MaxMu²/2, budgets.MinDelta ≤ δ < 1, and either (δ − δ₀)/(1 − δ₀) is at
// least budgets.MinDelta, or ρ = 0 and δ ≥ δ₀.
func ApproxZCDPToEpsilon(z loss.ZCDP, delta float64) (epsilon float64, err error) {
	if err := cmp.Or(checkZCDP(z), budgets.CheckDelta(delta)); err != nil {
		return 0, err
	}
	if z.Rho == 0 && delta >= z.Delta {
		return 0, nil
	}
	rest := remainder(delta, z.Delta)
	if !(rest >= budgets.MinDelta) {
		return 0, &units.RangeError{Parameter: "delta", Value: delta,
			Range: fmt.Sprintf("above the delta of the loss (%v), by at least 1e-300", z.Delta)}
	}
	if z.Rho == 0 {
		return 0, nil
	}
	c, err := budgets.ConvertDeltaRho(rest, max(z.Rho, minRho), budgets.ZCDP)
	return c.Epsilon, err
}

// remainder returns (δ − δ₀)/(1 − δ₀), rounded down. This is the δ that remains if the mechanism
// fails with probability δ₀.
func remainder(delta, failed float64) float64 {
	numerator := bigmath.Down().Sub(bigmath.New(delta), bigmath.New(failed))
	denominator := bigmath.Up().Sub(bigmath.New(1), bigmath.New(failed))
	return bigmath.RoundDown(bigmath.Down().Quo(numerator, denominator))
}

// ApproxZCDPToDelta returns a δ for which δ₀-approximate ρ-zCDP is (ε, δ)-DP, rounded up. It is δ₀
// + (1 − δ₀)·δ_ρ(ε) (see ApproxZCDPToEpsilon). The error is a *units.RangeError unless ρ is in the
// range of ApproxZCDPToEpsilon and 0 ≤ ε ≤ budgets.MaxEpsilon.
func ApproxZCDPToDelta(z loss.ZCDP, epsilon float64) (delta float64, err error) {
	if err := cmp.Or(checkZCDP(z), checkEpsilon(epsilon)); err != nil {
		return 0, err
	}
	if z.Rho == 0 {
		return z.Delta, nil
	}
	c, err := budgets.ConvertEpsilonRho(positive(epsilon), max(z.Rho, minRho), budgets.ZCDP)
	if err != nil {
		return 0, err
	}
	if z.Delta == 0 {
		return c.Delta, nil
	}
	sum := bigmath.Up().Sub(bigmath.New(1), bigmath.New(z.Delta))
	sum.Mul(sum, bigmath.New(c.Delta))
	sum.Add(sum, bigmath.New(z.Delta))
	return min(bigmath.RoundUp(sum), 1), nil
}

// ZCDPToRDP returns the Rényi divergences ρ·α of ρ-zCDP at the given orders, rounded up; one that
// does not fit into a float64 becomes +Inf. The δ of z must be 0: approximate zCDP bounds only the
// divergence of conditional distributions, and implies no RDP. The orders must be above 1, finite
// and ascending. The error is a *units.RangeError.
func ZCDPToRDP(z loss.ZCDP, orders []float64) (loss.RDP, error) {
	if err := z.Validate(); err != nil {
		return nil, err
	}
	if z.Delta != 0 {
		return nil, &units.RangeError{Parameter: "delta", Value: z.Delta, Range: "0 for Rényi differential privacy " +
			"to follow"}
	}
	return linearRDP(bigmath.New(z.Rho), orders)
}

func checkZCDP(z loss.ZCDP) error {
	if err := z.Validate(); err != nil {
		return err
	}
	if z.Rho > maxRho {
		return &units.RangeError{Parameter: "rho", Value: z.Rho, Range: fmt.Sprintf("at most %v", math.Trunc(maxRho))}
	}
	return nil
}
