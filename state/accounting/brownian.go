package accounting

import (
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Mixture bounds the realised loss of a Brownian mechanism, given the variance at which it stopped.
//
// The mechanism releases f + W(t) for decreasing variances t, where W is a Brownian motion, and may
// stop at any variance (Whitehouse, Ramdas, Rogers and Wu, 2022). For two inputs whose values of f
// differ by D, the loss of all releases down to variance T is exactly D²/(2T) + (D/T)·W(T). Take a
// curve that, except with probability δ, is above W at all t > 0. It bounds the loss at every stop,
// even if the stop depends on the loss itself. The curve √(2(t + p)·ln((1/δ)·√((t + p)/p))) gives
//
//	ψ(T) = D²/(2T) + (D/T)·√(2(T + p)·ln((1/δ)·√((T + p)/p))).
//
// |W| reaches the curve at some time with probability exactly δ. This follows from Ville's
// inequality for the martingale √(p/(t + p))·e^(W²/(2(t + p))), which is Robbins' mixture of e^(λW
// − λ²t/2) over λ with distribution N(0, 1/p). Over many orders of magnitude, the curve is within a
// factor √(ln t) of the bound for a single variance. The loss is bounded on both sides of its mean
// D²/(2T), with a probability of about δ/2 on each side.
//
// The zero value is invalid.
type Mixture struct {
	delta, p float64
	logTerm  float64 // ln(1/δ)
}

// NewMixture returns the mixture with parameter p, a variance between 2^-200 and 2^200, for 1e-300
// ≤ delta < 1. The error is a *units.RangeError.
func NewMixture(delta, p float64) (Mixture, error) {
	if err := budgets.CheckDelta(delta); err != nil {
		return Mixture{}, err
	}
	if err := checkVariance("p", p); err != nil {
		return Mixture{}, err
	}
	return Mixture{delta: delta, p: p, logTerm: -math.Log(delta)}, nil
}

// NewMixtureFor returns the mixture whose bound is smallest at the given variance, which must be
// between 2^-150 and 2^150. The error is a *units.RangeError.
func NewMixtureFor(delta, variance float64) (Mixture, error) {
	if err := budgets.CheckDelta(delta); err != nil {
		return Mixture{}, err
	}
	if err := units.Require(variance >= 0x1p-150 && variance <= 0x1p150, "variance", variance,
		"between 2^-150 and 2^150"); err != nil {
		return Mixture{}, err
	}
	return NewMixture(delta, bestMixture(delta, variance))
}

// At returns ψ(T), rounded up, as Epsilon, and δ as Delta, for a mechanism with sensitivity D that
// stopped at variance T. D is 0 or between 2^-100 and 2^100. T, in squared units of D, is between
// 2^-200 and 2^200. ψ decreases with T and increases with D. The error is a *units.RangeError.
//
// The claim holds for the loss of either input against the other. The δ was spent when the
// mechanism began, so record the result in a basic odometer even if the release was not used.
func (m Mixture) At(sensitivity, variance float64) (loss.Approx, error) {
	if err := m.check(sensitivity, variance); err != nil {
		return loss.Approx{}, fmt.Errorf("bounding the loss of a stopped mechanism: %w", err)
	}
	drift := sensitivity * sensitivity / variance / 2
	psi := drift + sensitivity/variance*mixtureHeight(variance, m.p, m.logTerm)
	return loss.Approx{Epsilon: enlarged(psi), Delta: m.delta}, nil
}

// check also rejects the zero value, which has no δ.
func (m Mixture) check(sensitivity, variance float64) error {
	if err := budgets.CheckDelta(m.delta); err != nil {
		return err
	}
	if sensitivity != 0 && !(sensitivity >= 0x1p-100 && sensitivity <= 0x1p100) {
		return &units.RangeError{Parameter: "sensitivity", Value: sensitivity, Range: "0, or between 2^-100 and 2^100"}
	}
	return checkVariance("variance", variance)
}

func checkVariance(name string, v float64) error {
	return units.Require(v >= 0x1p-200 && v <= 0x1p200, name, v, "between 2^-200 and 2^200")
}

// mixtureHeight returns √(2(t + p)·(logTerm + ½·ln((t + p)/p))), approximately.
func mixtureHeight(t, p, logTerm float64) float64 {
	return math.Sqrt(2 * (t + p) * (logTerm + math.Log1p(t/p)/2))
}

// bestMixture returns, approximately, the p that minimises mixtureHeight for a given t. For this p,
// y = (t + p)/p is the solution of y − 1 − ln y = 2·ln(1/δ) with y > 1. The left side is convex,
// and Newton's iteration approaches y from the right.
func bestMixture(delta, t float64) float64 {
	r := -2 * math.Log(delta)
	x := r + math.Sqrt(2*r) // y − 1
	for range 60 {
		x -= (x - math.Log1p(x) - r) * (1 + x) / x
	}
	return t / x
}
