// Package odometer bounds how much privacy has been lost so far if no budget was fixed
// in advance. Its counterpart is package filter, which refuses what no longer fits a
// budget.
//
// # Three kinds of claim
//
// Losses are chosen adaptively, each as a function of earlier releases. The package
// makes three kinds of statement about such a run, and they are not the same:
//
//   - Basic, Advanced, Renyi and Concentrated bound the realised loss. With P the
//     law of everything released on one input and P′ that on a neighbour, with
//     probability at least 1 − δ under P, at all moments at once,
//     ln(P/P′) of what was released up to then is at most Bound().Epsilon; and the
//     same with the two inputs exchanged. So the bound holds wherever you stop,
//     for whatever reason, and you may publish it then (Rogers, Roth, Ullman and
//     Vadhan, 2016, Definition 3.1).
//   - The trackers and totals bound a guarantee: for every B fixed in advance (a
//     multiple of the step, for a tracker), all releases up to the last moment
//     at which Bound was at most B are B-private. That is not a statement about a stop
//     that depended on the releases (Feldman and Zrnic, 2021, Proposition 4.10).
//   - Linear and Mixture bound the realised loss of one stopped Brownian mechanism
//     by its stopped variance. What they return is a loss for Basic to add up.
//
// No claim of the first or third kind is (ε, δ)-differential privacy with the ε that
// you read, because that number is itself a function of the releases.
//
// # Guarantees
//
//   - Sums are integers of 2^-208, every loss rounded up; what is computed from them
//     is enlarged by more than the error of the computation. A claim is never
//     smaller than its theorem's.
//   - The time to record does not depend on what was recorded before, and recording
//     never lowers a bound. Reading changes nothing.
//   - A loss that Validate refuses is a *units.RangeError and is not recorded. Sums
//     that no longer fit promise nothing: their ε is +Inf. No function returns NaN.
//
// # What it does not do
//
// It refuses no mechanism (see package filter) and does not know which mechanisms the
// caller runs: record a bound for every mechanism, before it runs. The losses of one
// individual depend on that individual's data, and so does a bound on them: publish
// neither (see package individual).
//
// # Storing and resuming
//
// MarshalBinary returns the parameters and everything recorded, in a versioned format
// (encoding/gob uses it). UnmarshalBinary continues exactly there. A zero value adopts the
// parameters of the state; a value from a constructor accepts a state of the same parameters
// only, and an odometer that has been used accepts none. Read a Tracker into a value from
// NewTracker. Errors are of type *accounts.DecodeError and leave the receiver unchanged.
// JSON is an error: it would be {}. Store after Record and before the mechanism runs: an
// older state claims less than was lost.
//
// # Concurrency
//
// Linear and Mixture are values. Everything else belongs to one goroutine at a
// time.
package odometer
