package accounting

import (
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// PointWise returns epsilon and a δ′ such that the realised loss of every l-private mechanism is
// within ±epsilon except with probability δ′, on either input:
//
//	δ′ = δ·(1 + e^(−ε′))/(1 − e^(−(ε′ − ε))), rounded up, with ε′ = epsilon > ε,
//
// where a δ between 0 and 1e-300 counts as 1e-300. Basic and advanced odometers need such losses.
//
// (ε, δ)-privacy is weaker than point-wise (ε, δ): the Gaussian mechanism with μ = 1 is (1,
// 0.127)-private, but its loss exceeds 1 with probability 0.309. If the distribution of a
// mechanism's loss is known, record the tail of that distribution instead.
//
// Proof. On E = {P > e^ε′·P′}: P(E) ≤ e^ε·P′(E) + δ ≤ e^(ε−ε′)·P(E) + δ. On
// F = {P′ > e^ε′·P}: likewise P′(F) ≤ δ/(1 − e^(ε−ε′)), and P(F) ≤ e^(−ε′)·P′(F).
// (Rogers et al., 2016, Lemma 2.3, is the case ε′ = 2ε. Its δ′ cannot be less than δ:
// randomised response reveals everything with probability δ.)
//
// The error is a *units.RangeError unless l is valid, epsilon > l.Epsilon, and δ′ < 1.
func PointWise(l loss.Approx, epsilon float64) (loss.Approx, error) {
	if err := l.Validate(); err != nil {
		return loss.Approx{}, fmt.Errorf("bounding a loss point by point: %w", err)
	}
	if !(epsilon > l.Epsilon && epsilon <= math.MaxFloat64) {
		return loss.Approx{}, &units.RangeError{Parameter: "epsilon", Value: epsilon,
			Range: fmt.Sprintf("finite and above the epsilon of the loss (%v)", l.Epsilon)}
	}
	if l.Delta == 0 {
		return loss.Approx{Epsilon: epsilon}, nil
	}
	least := math.Max(l.Delta, budgets.MinDelta) // below that, a float64 may have less than 53 bits
	delta := enlarged(least / -math.Expm1(l.Epsilon-epsilon) * (1 + math.Exp(-epsilon)))
	if delta >= 1 {
		return loss.Approx{}, &units.RangeError{Parameter: "epsilon", Value: epsilon,
			Range: fmt.Sprintf("greater, for a point-wise delta below 1 (the loss has %v)", l.Epsilon)}
	}
	return loss.Approx{Epsilon: epsilon, Delta: delta}, nil
}
