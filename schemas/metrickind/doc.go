// Package metrickind has the table of the kinds of metrics: for each kind its unit of counting, the
// greatest influence of one user, the settings it needs, and its names in texts. All other code
// that ships looks a kind up here and reads a property; no other file names a kind. Package
// internal/testing/doccheck tests both.
//
// To add a kind, write an entry in table.go. That is enough if a user's contribution follows from
// the number of the user's events, or, as for a sum, from their values one by one; a value of
// several such sums has a Vector. Another way to get from records to a contribution needs a new
// property, which clip.go of package transforms/spend has to implement. Then add the kind to
// internal/app/audit/reference (check.go, clip.go, release.go), which computes the expected counts
// a second time, and to docs/guarantee.md, which has the influence of one user on a count. The
// random tests of transforms/spend draw every kind of the table. The tests of
// internal/testing/doccheck report anything still missing.
//
// Guarantees: the table never changes while a program runs, and all functions are safe for
// concurrent use. An entry's name is part of the digests of metrics and of headers: it is never
// changed, and never used for another kind.
//
// Not guaranteed: that bounds make sense; package pipeline/deployment checks them, and
// transforms/spend checks for overflow. The package imports no other package of tollgate.
package metrickind
