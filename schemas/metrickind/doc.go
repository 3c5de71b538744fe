// Package metrickind holds the kinds of metrics: what each counts, by how much one user can move
// its count, what it needs of a configuration, and how it is called where people read it.
// Everything else that ships looks a kind up here and asks for a property; no other file names one.
// Package internal/testing/doccheck tests both.
//
// To add a kind, write an entry in table.go. That is all where a user's contribution follows from
// the number of the user's events, or from their values one by one as a sum's does. Another way to
// get from records to a contribution needs a property of its own, and package transforms/spend has
// to act on it in clip.go. Then teach the kind to internal/testing/reference (clip.go, check.go),
// which computes what must come out a second time, and docs/guarantee.md what one user moves; let
// the random tests of transforms/spend and integration draw it. The tests of
// internal/testing/doccheck say what is still missing.
//
// Guarantees: the table never changes while a program runs, and all functions are safe for
// concurrent use. An entry's name stands in the digests of metrics and in headers: it is never
// changed, and never given to another kind.
//
// Not guaranteed: that bounds make sense; package pipeline/deployment checks them, and
// transforms/spend checks what must not overflow. The package knows nothing of the others.
package metrickind
