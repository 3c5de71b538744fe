// Package odometers implements the experiment on the cost of an unknown horizon (Rogers, Roth,
// Ullman and Vadhan, 2016, Sections 5 and 6).
//
// The adversary of Theorem 6.1 queries the same randomised response with a small ε repeatedly, and
// stops when the realised loss exceeds the claim. A claim that holds at every fixed step need not
// hold at the step at which the adversary stops. The adversary's probability of success is
// computed, not sampled, because the realised loss is a walk on the multiples of ε.
//
// Guarantees: probabilities are exact up to rounding in float64 (below 1e-9).
package odometers
