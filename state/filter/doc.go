// Package filter decides whether one more mechanism may run, if mechanisms and
// their privacy losses are chosen adaptively: each from the releases of the ones
// before it.
//
// Ordinary composition theorems do not cover parameters that are chosen on the way,
// and some of them fail there (Rogers, Roth, Ullman and
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
// Bound the loss of the next mechanism from the releases so far, call Spend, and run
// the mechanism only if Spend returned nil. A refused mechanism must not run. You may
// try another, cheaper one, even after many refusals. The promise covers all
// mechanisms that ran, together, for each individual for whom you bounded every loss.
//
// # Guarantees
//
//   - A filter accepts only what its theorem allows. Sums are exact, of units of
//     2^-208: a budget that is a number, a loss of at least 2^-156 and the square of
//     a μ of at least 2^-52 are not rounded at all, smaller ones are rounded up. So
//     losses that add up to a budget, as real numbers, fit it, and losses that
//     exceed it by any amount do not. A budget that is computed from (ε, δ) is rounded
//     down, by less than a relative 2^-58, and where a theorem has a formula of the
//     sums it is evaluated with an error bound on the safe side. What does not fit the
//     range of a sum (2^48) is refused.
//   - A float64 quotient such as B/√k may be above B/√k, so that k of them are more than
//     B. The Split methods of package loss round it down: k of those fit, if they are large
//     enough not to be rounded up (the point above).
//   - Acceptance is monotone. If a loss fits, a smaller one fits too, and if a loss
//     fits after some losses, it fits after smaller ones.
//   - An update costs the same whatever came before it: no history is kept. Fits,
//     Spend, Reserve and Settle do not allocate, but for the error of bad input.
//   - An invalid number gives a *units.RangeError that names it; then,
//     and with ErrExceeded, the filter is as it was.
//
// # What it does not do
//
// It cannot know whether a loss is a true bound. A bound that is too small, or that was
// chosen with knowledge of the data, voids the promise. The package draws no noise, keeps
// no accounts (see packages accounts and individual) and writes no file.
//
// # Storing and resuming
//
// MarshalBinary returns everything that a filter knows: its budget and the amounts spent and
// reserved, in a versioned format (encoding/gob uses it). UnmarshalBinary continues exactly there:
// every later answer is the one that the stored filter would have given.
//
//	var f filter.GDP
//	err := f.UnmarshalBinary(stored)
//
// A zero value adopts the budget of the state. A filter from a constructor accepts a state of the
// same budget only, and a filter that has been used accepts none, so reading never forgets what was
// spent. Reservations stay reserved until Settle. Errors are of type *accounts.DecodeError, say
// what is wrong with the bytes, and leave the receiver unchanged. JSON is an error: it would be {}.
//
// Store after Spend or Reserve and before the mechanism runs. A state that was stored earlier, or
// restored from an older copy, has more left than there is, and a filter cannot detect that.
//
// # One budget, one filter
//
// A budget is fixed when a filter is made, and only the filter knows what was spent. Two
// filters for the same people are two budgets, even if one is a copy of the other, was made
// by Fresh, or was resumed from a state that another filter continues from, too. If several
// filters guard the same mechanisms, all of them must accept. To go on while any of them
// accepts would let the outputs choose which one is left at the end. The same is true if a
// filter is replaced, or its budget changed on the way, because of what was released: each
// way of ending may be within a budget, and the failure probabilities δ of different ways
// add. The promise is then that of the largest loss and the largest δ of all of them
// together, not the (ε, δ) of each.
//
// # Concurrency
//
// A filter belongs to one goroutine at a time: otherwise two goroutines could both see
// the same remainder between Fits and Spend.
package filter
