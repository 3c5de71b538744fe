// Package odometer tells how much privacy has been lost so far, where it was not fixed
// in advance how much may be: the counterpart of package filter, which refuses
// what no longer fits.
//
// # Three kinds of claim
//
// Losses are chosen as one goes, each as a function of what was released before.
// Three statements about such a run are offered, and they are not the same:
//
//   - Basic, Advanced, Renyi and Concentrated bound the realised loss. With P the
//     law of everything released on one input and P′ that on a neighbour, with
//     probability at least 1 − δ under P, at all moments at once,
//     ln(P/P′) of what was released up to then is at most Bound().Epsilon; and the
//     same with the two inputs exchanged. So the bound holds wherever one stops,
//     for whatever reason, and may be published then (Rogers, Roth, Ullman and
//     Vadhan, 2016, Definition 3.1).
//   - The trackers and totals bound a guarantee: for every B fixed in advance (a
//     multiple of the step, for a tracker), what was released up to the last moment
//     at which Bound was at most B is B-private. That is not a statement about a stop
//     that depended on the releases (Feldman and Zrnic, 2021, Proposition 4.10).
//   - Linear and Mixture bound the realised loss of one stopped Brownian mechanism
//     by its stopped variance. What they return is a loss for Basic to add up.
//
// No claim of the first and third kind is (ε, δ)-differential privacy with ε the
// number that was read: that number is itself a function of the releases.
//
// # Guarantees
//
//   - Sums are integers of 2^-208, every loss rounded up; what is computed from them
//     is enlarged by more than the error of the computation. A claim is never
//     smaller than its theorem's.
//   - Recording takes a time that does not depend on what was recorded before, and
//     never lowers a bound. Reading changes nothing.
//   - A loss that Validate refuses is a *units.RangeError and is not recorded. Sums
//     that no longer fit promise nothing: their ε is +Inf. No function returns NaN.
//
// # What it does not do
//
// It refuses no mechanism (see package filter) and does not know what the caller
// runs: record a loss before its mechanism, and record a bound for every mechanism.
// The losses of one individual are a matter of that individual's data, and so is a
// bound on them: publish neither (see package individual).
//
// # Storing and resuming
//
// MarshalBinary returns the parameters and all that was recorded, in a format with a version
// (encoding/gob uses it); UnmarshalBinary goes on exactly there. The zero value takes the
// parameters of the state; what a constructor made takes a state of the same parameters
// only, and an odometer that has been used takes none. A Tracker is read into what
// NewTracker made. The error is a *accounts.DecodeError; the receiver is as it was then.
// JSON is an error: it would be {}. Store after Record and before the mechanism runs: an
// older state claims less than was lost.
//
// # Concurrency
//
// Linear and Mixture are values. Everything else belongs to one goroutine at a
// time.
package odometer
