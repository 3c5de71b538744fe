// Package metrickind defines the kinds of metrics. A table states for each kind what is counted,
// the greatest influence of one user, the settings that the kind needs, and its names in messages.
// Other production code looks up a kind and uses its properties. No other file names a kind;
// package internal/testing/doccheck tests this.
//
// To add a kind, add an entry to the table in table.go. That is enough if a user's contribution is
// a function of the number of the user's events or, as for a sum, of each event's value. A value
// computed from several such sums needs a Vector. Any other contribution needs a new property,
// implemented in clip.go of package transforms/spend. Then add the kind to
// internal/app/audit/reference (check.go, clip.go, release.go), which computes the expected counts
// independently, and to docs/guarantee.md, which states the influence of one user on a count. The
// random tests of transforms/spend draw every kind in the table, and the tests of
// internal/testing/doccheck report anything that is missing.
//
// The table never changes while a program runs, and all functions are safe for concurrent use. A
// kind's name never changes and is never reused, as digests of metrics and headers contain it.
//
// This package does not check that bounds are sensible. Package pipeline/deployment does, and
// package transforms/spend checks for overflow.
package metrickind
