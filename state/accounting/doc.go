// Package accounting keeps privacy budgets for mechanisms that are chosen adaptively, each on the
// basis of the releases before it.
//
//   - A Filter has a budget that is fixed beforehand, and decides whether one more mechanism may
//     run. A Reserver is a Filter for mechanisms whose loss is known only when they stop.
//   - An Odometer bounds the loss so far, without a budget. A Tracker counts how many filters a run
//     has used up.
//   - PerUser keeps a Filter for every user. LinearQueries uses a PerUser to release sums.
//
// Ordinary composition theorems do not cover parameters that are chosen adaptively, and some are
// false for such parameters (Rogers, Roth, Ullman and Vadhan, 2016). The comment of every
// constructor names the theorem that its rule implements. Each theorem is proved for adaptive
// choice. The sources are:
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
// Use the releases so far to bound the loss of the next mechanism, call Spend, and run the
// mechanism only if Spend returns nil. A refused mechanism must not run, but you may try a cheaper
// one, even after many refusals. The promise covers all mechanisms that ran, taken together, for
// each individual for whom you bounded every loss.
//
// # What an odometer claims
//
//   - Basic, advanced, Rényi and concentrated odometers bound the realised loss. Let P be the
//     distribution of everything released on one input, and P′ that on a neighbouring input. With
//     probability at least 1 − δ under P, ln(P/P′) of the releases so far is at most
//     Bound().Epsilon at all moments simultaneously; the same holds with the inputs exchanged. So
//     the bound holds whenever you stop, for whatever reason, and you may then publish it (Rogers
//     et al. 2016, Definition 3.1).
//   - Totals and trackers bound a guarantee: for every B that is fixed in advance (a multiple of
//     the step, for a tracker), all releases up to the last moment when Bound was at most B are
//     B-private. This claim does not cover a stop that depended on the releases (Feldman and Zrnic,
//     Proposition 4.10).
//   - A Mixture bounds the realised loss of one stopped Brownian mechanism. A basic odometer or an
//     ex-post filter can add up such losses.
//
// No claim of the first or third kind is (ε, δ)-differential privacy with the reported ε, because
// the reported ε is itself a function of the releases.
//
// # Guarantees
//
//   - Sums are exact integer multiples of 2^-208, and losses are rounded up to such multiples. A
//     loss of at least 2^-156 and the square of a μ of at least 2^-52 are not rounded at all.
//     Losses whose exact sum equals a budget fit into it, and losses whose sum exceeds it by any
//     amount do not. A budget that is computed from (ε, δ) is rounded down, by less than a relative
//     2^-58. Formulas in the sums are evaluated with an error bound on the safe side. If a sum
//     reaches 2^48, a filter refuses the loss and an odometer returns an ε of +Inf.
//   - A float64 quotient such as B/√k may exceed the exact B/√k; k such losses then add up to more
//     than B. The Split methods in package loss round quotients down.
//   - Acceptance is monotone: if a loss fits, a smaller loss fits too, and if a loss fits after
//     some losses, it also fits after smaller ones. Recording a loss never lowers a bound.
//   - An update has constant cost and does not allocate.
//   - An invalid number gives a *units.RangeError that names the parameter. A call that returns an
//     error changes nothing. No function returns NaN.
//
// # Limits
//
// The package cannot know whether a loss is a true bound. A bound that is too small, or was chosen
// with knowledge of the data, voids the promise. The package draws no noise and writes no files.
// The losses of an individual, and bounds on these losses, are private data: do not publish them.
//
// # Storing and resuming
//
// MarshalBinary returns the rule, its parameters and limits, and the amounts. UnmarshalBinary reads
// such a state into an unused value that the constructor made with the same parameters. That value
// continues exactly where the stored one left off: reading never forgets spent amounts and never
// changes a budget. Reservations stay reserved until Settle. Errors are of type
// *accounts.DecodeError and leave the receiver unchanged. JSON encoding returns an error because
// the result would be {}. Store the state after Spend, Reserve, Record or Round and before the
// mechanism runs: an older state shows more budget than is left, and nothing detects this.
//
// # One budget, one filter
//
// Two filters for the same people are two budgets. That is so even if one filter is a copy of the
// other, was made by Fresh, or was resumed from a state from which the other filter also continues.
// If several filters guard the same mechanisms, all of them must accept a loss. If you continued
// while any one accepts, the outputs would choose which filter is left at the end. The same is true
// if a filter is replaced, or its budget is changed, because of releases: each way of ending may be
// within a budget, but the failure probabilities δ of different ways add up. The promise is then
// the largest loss and the largest δ of all filters together, not the (ε, δ) of each.
//
// # Concurrency
//
// Only one goroutine at a time may use a value, except a Mixture or Quantiser, which are immutable.
package accounting
