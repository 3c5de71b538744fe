// Package filter decides whether one more mechanism may run, where mechanisms and
// their privacy losses are chosen adaptively: each from what the ones before it
// released.
//
// Adding up parameters that were chosen on the way is not covered by ordinary
// composition theorems, and some of them fail there (Rogers, Roth, Ullman and
// Vadhan, "Privacy Odometers and Filters", 2016). Every type here implements the
// halting rule of a theorem that is proved for adaptive choice:
//
//   - Basic and Advanced: Rogers et al. 2016, Theorems 3.3 and 5.1.
//   - Renyi and RenyiOrders: Feldman and Zrnic, "Individual Privacy Accounting via
//     a Rényi Filter", Theorem 4.3 and Remark 4.4.
//   - ZCDP: Feldman and Zrnic, Theorem 4.9, with either of two conversions.
//   - ApproxZCDP: Rogers, Samorodnitsky, Wu and Ramdas, "Adaptive Privacy
//     Composition for Accuracy-first Mechanisms", 2023, Theorem 2.
//   - GDP: Koskela, Tobaben and Honkela, "Individual Privacy Accounting with
//     Gaussian Differential Privacy", Theorem 12.
//   - ExPost: Rogers et al. 2023, Lemma 5.2; Mixed: Theorem 3 there; Unified: the
//     filter for Brownian noise reduction there.
//
// # How to use one
//
// Bound the loss of the next mechanism from what has been released so far, call
// Spend, and run the mechanism only if Spend returned nil. What is refused must not
// run; another, cheaper mechanism may be tried, also after any number of refusals.
// The promise is about everything that ran, together, for each individual that
// every loss was bounded for.
//
// # Guarantees
//
//   - A filter accepts only what its theorem allows. Sums are exact, of units of
//     2^-208: a budget that is a number, a loss of at least 2^-156 and the square of
//     a μ of at least 2^-52 are not rounded at all, smaller ones are rounded up. So
//     losses that add up to a budget, as real numbers, fit it, and those that
//     exceed it by anything do not. A budget that is computed from (ε, δ) is rounded
//     down, by less than a relative 2^-58, and where a theorem has a formula of the
//     sums it is evaluated with an error bound on the safe side. What does not fit the
//     range of a sum (2^48) is refused.
//   - A float64 quotient such as B/√k may be above B/√k, so that k of them are more than
//     B. The Split methods of package loss round it down: k of those fit, if they are large
//     enough not to be rounded up (the point above).
//   - Acceptance is monotone. What fits fits also with smaller numbers, and whatever
//     fits after some losses fits after smaller ones.
//   - An update costs the same whatever came before it: no history is kept. Fits,
//     Spend, Reserve and Settle do not allocate, but for the error of bad input.
//   - An invalid number gives a *units.RangeError that names it; then,
//     and with ErrExceeded, the filter is as it was.
//
// # What it does not do
//
// It cannot know whether a loss is a true bound: one that is too small, or that was
// chosen with knowledge of the data, voids the promise. It draws no noise, keeps no
// accounts (see packages state and state/individual) and writes no file. Left is
// no promise of usefulness.
//
// # Storing and resuming
//
// MarshalBinary returns all that a filter knows: its budget, what is spent and what is reserved, in
// a format with a version (encoding/gob uses it). UnmarshalBinary goes on exactly where that was:
// every later answer is the one that the filter would have given.
//
//	var f filter.GDP
//	err := f.UnmarshalBinary(stored)
//
// The zero value takes the budget of the state. What a constructor made takes a state of that same
// budget only, and a filter that has been used takes none: reading never forgets what was
// spent. What is reserved stays reserved until Settle. The error is a *accounts.DecodeError, which
// says what is wrong with the bytes; the receiver is as it was then. JSON is an error: it would
// be {}.
//
// Store after Spend or Reserve and before the mechanism runs. A state that was stored before, or is
// put back from an older copy, has more left than there is, and a filter cannot know.
//
// # One budget, one filter
//
// A budget is fixed when a filter is made, and the filter is all that knows what was
// spent. Two filters for the same people are two budgets, also where one is a copy of the
// other, was made by Fresh, or was resumed from a state that another goes on from, too.
// Where several watch the same mechanisms, each must accept: to go on while any of them
// does lets the outputs choose which one is left at the end. The same is true of a filter
// that is replaced, or of which another budget is made on the way, because of what was
// released: each way of ending may be within a budget, and the failure probabilities δ of
// different ways add. What is then promised is that of the largest loss and the largest δ
// of all of them together, not the (ε, δ) of each.
//
// # Concurrency
//
// A filter belongs to one goroutine at a time: between Fits and Spend of two
// goroutines both may see the same rest.
package filter
