package accounting

import (
	"fmt"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// NewZCDP returns an (ε, δ) filter that is based on zero-concentrated differential privacy. Values
// of ρ add up to at most the solution of ε = ρ + 2·√(ρ·ln 1/δ). This is the closed form given with
// Feldman and Zrnic, Theorem 4.9: ρ = (√(ln 1/δ + ε) − √(ln 1/δ))². Everything accepted together is
// ρ-zCDP with that ρ, and thus (ε, δ)-DP. The error is a *units.RangeError unless 2^-80 ≤ ε ≤
// budgets.MaxEpsilon and budgets.MinDelta ≤ δ < 1, and the solution ρ is at least 2^-80.
//
// The filter accepts only plain zCDP: a loss with a δ gives a *units.RangeError; see NewApproxZCDP.
// A pure ε-DP mechanism is ε²/2-zCDP, which gives the theorem's ½·Σε².
func NewZCDP(budget loss.Approx) (*Filter[loss.ZCDP], error) {
	rho, err := simpleRho(budget)
	if err != nil {
		return nil, err
	}
	l, err := limitOf("rho", rho)
	if err != nil {
		return nil, fmt.Errorf("making a zCDP filter for (%v, %v): %w", budget.Epsilon, budget.Delta, err)
	}
	return newFilter("zcdp", plainZCDPSums, []fixed.Amount{l}), nil
}

// NewApproxZCDP returns the filter of approximate zCDP: values of ρ and δ add up to at most the
// budgets rho and delta (Rogers et al. 2023, Theorem 2). The error is a *units.RangeError unless
// 2^-80 ≤ rho < 2^48 and delta is 0 or 2^-80 ≤ delta < 1.
//
// Everything accepted together is (ε, δ + δ')-DP for every δ' > 0 and ε = ρ + 2·√(ρ·ln 1/δ'). It is
// also δ-approximate ρ-zCDP, so tighter conversions may be used: on every path, the mechanisms'
// kernels without their failures are ρ-zCDP by Feldman and Zrnic's Remark 4.4, and have a mass of
// at least Π(1 − δ_i) ≥ 1 − δ.
func NewApproxZCDP(rho, delta float64) (*Filter[loss.ZCDP], error) {
	limits, err := limits("rho", rho, delta)
	if err != nil {
		return nil, err
	}
	return newFilter("approximate zcdp", zcdpSums, limits), nil
}

// NewApproxZCDPFor returns the filter of approximate zCDP whose accepted mechanisms are together
// (ε, δ)-DP by Theorem 2. The δ of losses may add up to approximate, and the budget ρ is the
// solution of ε = ρ + 2·√(ρ·ln 1/δ') for δ' = δ − approximate. ε and δ have the ranges of NewZCDP;
// approximate is 0, or at least 2^-80 and below δ. The error is a *units.RangeError.
func NewApproxZCDPFor(budget loss.Approx, approximate float64) (*Filter[loss.ZCDP], error) {
	limits, err := approxLimits(budget, approximate)
	if err != nil {
		return nil, err
	}
	return newFilter("approximate zcdp", zcdpSums, limits), nil
}

// NewUnified returns the filter for Brownian noise reduction alongside approximate zCDP (Rogers et
// al. 2023, the unified filter). A mechanism that releases ever more precise values and stops is
// charged the zCDP of the last value. Budgets, errors and promise are as for NewApproxZCDP.
//
// Reserve the ρ of the last possible rung before the first rung is released, and stop when the
// released values are good enough. Then call Settle with the ρ of the rung that was reached, or
// with the zero loss if none was released. A rung whose noise has variance T costs ρ = D²/(2T) at
// sensitivity D. Any number of mechanisms may be open at the same time. Spend charges mechanisms
// whose loss is known beforehand.
//
// The promise holds because rung k of a Brownian mechanism is a further Gaussian release, with
// independent noise and a loss of ρ_k − ρ_{k−1}. The increments add up to the ρ of the last rung,
// and a stop that depends on released values is ordinary adaptivity. The promise does not hold for
// noise reduction with Laplace noise, whose bound is ex-post (NewExPost); for fresh noise at every
// rung, which costs the sum of all rungs; or for a stop that reads the data.
func NewUnified(rho, delta float64) (*Reserver[loss.ZCDP], error) {
	limits, err := limits("rho", rho, delta)
	if err != nil {
		return nil, err
	}
	return newUnified(limits), nil
}

// NewUnifiedFor returns a unified filter with the budgets of NewApproxZCDPFor: everything accepted
// together is (ε, δ)-DP. The error is a *units.RangeError.
func NewUnifiedFor(budget loss.Approx, approximate float64) (*Reserver[loss.ZCDP], error) {
	limits, err := approxLimits(budget, approximate)
	if err != nil {
		return nil, err
	}
	return newUnified(limits), nil
}

func newUnified(limits []fixed.Amount) *Reserver[loss.ZCDP] {
	return &Reserver[loss.ZCDP]{*newFilter("unified", zcdpSums, limits)}
}

func approxLimits(budget loss.Approx, approximate float64) ([]fixed.Amount, error) {
	if err := checkPromise(budget); err != nil {
		return nil, err
	}
	if !(approximate >= 0 && approximate < budget.Delta) {
		return nil, &units.RangeError{
			Parameter: "approximate", Value: approximate,
			Range: fmt.Sprintf("at least 0 and below delta (%v)", budget.Delta),
		}
	}
	left := -rounding.SumUp(approximate, -budget.Delta) // rounded down
	rho, err := simpleRho(loss.Approx{Epsilon: budget.Epsilon, Delta: left})
	if err != nil {
		return nil, fmt.Errorf("converting the part of delta that approximate leaves: %w", err)
	}
	l, err := limitOf("rho", rho)
	if err != nil {
		return nil, fmt.Errorf("making an approximate zCDP filter for (%v, %v): %w", budget.Epsilon, budget.Delta, err)
	}
	d, err := failure(approximate)
	return []fixed.Amount{l, d}, err
}

// simpleRho returns the solution ρ of ε = ρ + 2·√(ρ·ln 1/δ), less a relative 2^-140. The error is a
// *units.RangeError. With L = ln 1/δ, the solution is (ε/(√(L+ε) + √L))², without cancellation.
func simpleRho(p loss.Approx) (*big.Float, error) {
	if err := checkPromise(p); err != nil {
		return nil, err
	}
	epsilon := bigmath.New(p.Epsilon)
	l := bigmath.Log(bigmath.New(p.Delta))
	l.Neg(l)
	root := bigmath.Zero().Sqrt(bigmath.Zero().Add(l, epsilon))
	root.Add(root, bigmath.Zero().Sqrt(l))
	root.Quo(epsilon, root)
	rho := root.Mul(root, root)
	return rho.Sub(rho, bigmath.Margin(rho)), nil
}

// NewZCDPTotal returns an odometer whose bound is Σρ and Σδ over all recorded losses. For every (ρ,
// δ) that is fixed in advance, all releases up to the last moment when Σρ ≤ ρ and Σδ ≤ δ are
// together δ-approximate ρ-zCDP (Rogers et al. 2023, Theorem 2). A Delta of 1 or more, or a Rho of
// +Inf, promises nothing.
func NewZCDPTotal() *Odometer[loss.ZCDP, loss.ZCDP] { return newTotal("zcdp total", zcdpSums, 2) }

// NewConcentratedOdometer returns an odometer for mechanisms with plain zCDP, including Gaussian
// and Brownian mechanisms, whose μ counts as ρ = μ²/2. With R = Σρ and a parameter q, a loss is at
// most
//
//	R + √(2(2R + q)·ln((1/δ)·√((2R + q)/q)))
//
// at all moments simultaneously, except with probability delta, 1e-300 ≤ delta < 1. This is the
// mixture odometer of Whitehouse, Ramdas, Rogers and Wu (2023), for zCDP. q minimises the bound for
// Σρ near rho, which must be between 2^-40 and 2^40, but the bound is valid for every Σρ. The bound
// grows like √R. This odometer spends δ once, whereas a Mixture per mechanism would spend δ for
// every mechanism. Every ρ must be fixed, from earlier releases, before its mechanism runs. Record
// a Brownian mechanism rung by rung, each rung with the precision that it adds: c²(u_k −
// u_(k−1))/2. The error is a *units.RangeError.
//
// Proof. Let L be the realised loss. e^(θ(L − R) − θ²R) is a supermartingale for every θ > 0,
// because the Rényi divergence of order 1 + θ of a mechanism is at most (1 + θ)ρ. Mix over θ with
// the density of |N(0, 1/q)|, and bound the Φ(x) in the result from below by 1/2 for x ≥ 0. This
// gives √(q/(2R + q))·e^((L − R)²/(2(2R + q))) as a lower bound on a supermartingale that starts at
// 1. Ville's inequality completes the proof.
func NewConcentratedOdometer(delta, rho float64) (*Odometer[loss.ZCDP, loss.Approx], error) {
	if err := budgets.CheckDelta(delta); err != nil {
		return nil, err
	}
	if err := units.Require(rho >= 0x1p-40 && rho <= 0x1p40, "rho", rho, "between 2^-40 and 2^40"); err != nil {
		return nil, err
	}
	// A stored state with another q is rejected, because one run must not use two values of q.
	q, logTerm := bestMixture(delta, 2*rho), -math.Log(delta)
	return newOdometer("concentrated odometer", plainZCDPSums, 1, func(recorded []fixed.Amount) loss.Approx {
		if recorded[0].IsZero() {
			return loss.Approx{Delta: delta}
		}
		rho := up.float(recorded[0])
		if math.IsInf(rho, 1) {
			return loss.Approx{Epsilon: rho, Delta: delta}
		}
		return loss.Approx{Epsilon: enlarged(rho + mixtureHeight(2*rho, q, logTerm)), Delta: delta}
	}, delta, q), nil
}
