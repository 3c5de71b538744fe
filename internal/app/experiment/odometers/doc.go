// Package odometers has the experiment of what it costs not to know the horizon (Rogers,
// Roth, Ullman and Vadhan, 2016, Sections 5 and 6).
//
// The adversary of Theorem 6.1 asks the same randomised response of a small ε again and again,
// watches the realised loss and stops when it is above what is claimed. A claim that holds at every
// fixed moment need not hold at one that is chosen so. How likely the adversary wins is computed,
// not sampled: the realised loss is a walk on the multiples of ε.
//
// Guarantees: probabilities are exact up to rounding in float64 (below 1e-9).
package odometers
