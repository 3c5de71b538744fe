// Package accounting keeps privacy budgets for mechanisms that are chosen adaptively, each from the
// releases before it.
//
//   - A Filter decides, within a budget fixed beforehand, whether one more mechanism may run. A
//     Reserver is a Filter for mechanisms whose loss is known only when they stop.
//   - An Odometer bounds the loss so far, without a budget fixed beforehand. A Tracker
//     counts how many filters a run has used up.
//   - PerUser keeps a Filter for every user. LinearQueries releases sums with it.
//
// Ordinary composition theorems do not cover parameters that are chosen as you go, and some fail
// for them (Rogers, Roth, Ullman and Vadhan, 2016). Every constructor names the theorem, proved for
// adaptive choice, that its rule implements:
//
//   - Rogers, Roth, Ullman and Vadhan, "Privacy Odometers and Filters", 2016
//   - Feldman and Zrnic, "Individual Privacy Accounting via a Rényi Filter", 2021
//   - Koskela, Tobaben and Honkela, "Individual Privacy Accounting with Gaussian Differential
//     Privacy", 2023
//   - Rogers, Samorodnitsky, Wu and Ramdas, "Adaptive Privacy Composition for Accuracy-first
//     Mechanisms", 2023
//   - Whitehouse, Ramdas, Rogers and Wu, "Fully-adaptive Composition in Differential Privacy", 2023
//
// # How to use a filter
//
// Bound the loss of the next mechanism from the releases so far, call Spend, and run the mechanism
// only if Spend returned nil. A refused mechanism must not run; you may try a cheaper one, even
// after many refusals. The promise covers all mechanisms that ran, together, for each individual
// for whom you bounded every loss.
//
// # What an odometer claims
//
//   - Basic, advanced, Rényi and concentrated odometers bound the realised loss. With P the law of
//     everything released on one input and P′ the law on a neighbour, with probability at least 1 −
//     δ under P, at all moments at once, ln(P/P′) of the releases up to then is at most
//     Bound().Epsilon; the same holds with the inputs exchanged. So the bound holds whenever you
//     stop, for whatever reason, and you may then publish it (Rogers et al. 2016, Definition 3.1).
//   - Totals and trackers bound a guarantee: for every B fixed in advance (a multiple of the step,
//     for a tracker), all releases up to the last moment when Bound was at most B are B-private.
//     That says nothing about a stop that depended on the releases (Feldman and Zrnic, Proposition
//     4.10).
//   - A Mixture bounds the realised loss of one stopped Brownian mechanism. It returns a loss for a
//     basic odometer or an ex-post filter to add up.
//
// No claim of the first or third kind is (ε, δ)-differential privacy with the reported ε, because
// that number is itself a function of the releases.
//
// # Guarantees
//
//   - Sums are exact integer multiples of 2^-208, and losses are rounded up to them: a loss of at
//     least 2^-156 and the square of a μ of at least 2^-52 are not rounded at all. Losses that add
//     up to a budget as real numbers fit it, and losses that exceed it by any amount do not. A
//     budget computed from (ε, δ) is rounded down, by less than a relative 2^-58. Formulas in the
//     sums are evaluated with an error bound on the safe side. If a sum reaches 2^48, a filter
//     refuses the loss and an odometer returns an ε of +Inf.
//   - A float64 quotient such as B/√k may exceed the real B/√k, so that k of them add up to more
//     than B. The Split methods in package loss round it down.
//   - Acceptance is monotone: if a loss fits, a smaller one fits too, and if a loss fits after some
//     losses, it fits after smaller ones. Recording never lowers a bound.
//   - An update has constant cost and does not allocate.
//   - An invalid number gives a *units.RangeError that names it. An error changes nothing. No
//     function returns NaN.
//
// # Limits
//
// The package cannot know whether a loss is a true bound. A bound that is too small, or was chosen
// with knowledge of the data, voids the promise. The package draws no noise and writes no file. The
// losses of one individual depend on that individual's data, and so does a bound on them: publish
// neither.
//
// # Storing and resuming
//
// MarshalBinary returns the rule, its parameters and limits, and the amounts. UnmarshalBinary reads
// them into an unused value that the constructor made with the same parameters, which continues
// exactly where the other left off: reading never forgets spent amounts and never changes a budget.
// Reservations stay reserved until Settle. Errors are of type *accounts.DecodeError and leave the
// receiver unchanged. JSON encoding returns an error, as the result would be {}. Store after Spend,
// Reserve, Record or Round and before the mechanism runs: an older state shows more budget than is
// left, and nothing detects that.
//
// # One budget, one filter
//
// Two filters for the same people are two budgets, even if one is a copy of the other, was made by
// Fresh, or was resumed from a state that another filter also continues from. If several filters
// guard the same mechanisms, all of them must accept. If you continued while any of them accepts,
// the outputs would choose which one is left at the end. The same is true if releases cause a
// filter to be replaced or its budget to be changed: each way of ending may be within a budget, but
// the failure probabilities δ of different ways add. The promise is then the largest loss and the
// largest δ of all of them together, not the (ε, δ) of each.
//
// # Concurrency
//
// Every value belongs to one goroutine at a time, except the immutable Mixture and Quantiser.
package accounting
