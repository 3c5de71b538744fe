// Package protected chooses bounds from what users do, and protects these users: a choice spends a
// part of their privacy budget, and the deployment that follows has only the rest
// (privacy.planned).
//
// The package counts users in noisy tables, by what each user usually does: the number of keys in a
// window, and of events with each of them; the number of windows with events; the most frequent
// keys; and, for sums, the size of the values. From these tables alone the
// package makes up events that resemble the real ones, and package advice gives its advice on
// those: all of that is post-processing.
//
// # Guarantees
//
// The budget that was spent protects a [Release] and everything computed from it. Without a user,
// at most one cell of each table changes by 1, and at most [MostKeys] cells of the table of keys.
// Each table has a precision u; together they are chosen so that Σ d²·u, over all cells that change
// by d, is at most the planned part of B². A key that only one user has passes its threshold with
// at most the δ that is planned for it: docs/guarantee.md, section 10. Noise is exactly Gaussian
// and follows from the noise key, the arguments and the tables. A noise key serves one choice: that
// of one run of demo.
//
// # No guarantees
//
// Callers must not look at the data to choose the arguments (size of windows, range, target,
// share), and must know themselves whether the deployment has the same users. The time that a
// choice takes depends on the data.
package protected
