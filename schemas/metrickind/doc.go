// Package metrickind holds the table of metric kinds: for each kind the unit of counting, the
// greatest influence of one user, the settings it needs, and its names in texts. Other production
// code looks up a kind and reads its properties; no other file names a kind. Package
// internal/testing/doccheck tests this.
//
// To add a kind, write an entry in table.go. That is enough if a user's contribution follows from
// the number of the user's events or, as for a sum, from their values one by one; a value computed
// from several such sums has a Vector. Any other contribution needs a new property, implemented in
// clip.go of package transforms/spend. Then add the kind to internal/app/audit/reference (check.go,
// clip.go, release.go), which computes the expected counts independently, and to docs/guarantee.md,
// which states the influence of one user on a count. The random tests of transforms/spend draw
// every kind of the table, and the tests of internal/testing/doccheck report anything missing.
//
// Guarantees: the table never changes while a program runs, and all functions are safe for
// concurrent use. An entry's name is part of the digests of metrics and headers: it never changes
// and is never reused.
//
// The package does not check that bounds are sensible: package pipeline/deployment does, and
// transforms/spend checks for overflow.
package metrickind
