// Package metrickind holds the kinds of metrics: what each counts, by how much one user can move
// its count, what it needs of a configuration, and how it is called where people read it.
// Everything else in the tree looks a kind up here and asks for a property; no other file that
// ships names one, but package internal/reference, which computes what must come out a second time.
// Package internal/doccheck tests both.
//
// To add a kind, write an entry in table.go. That is all where a user's contribution follows from
// the number of the user's events, or from their values one by one as a sum's does. Another way to
// get from records to a contribution needs a property of its own, and package transforms/spend has
// to act on it in clip.go. Then teach the kind to internal/reference, and docs/guarantee.md what
// one user moves.
//
// Guarantees: the table never changes while a program runs, and all functions are safe for
// concurrent use. An entry's name stands in the digests of metrics and in headers: it is never
// changed, and never given to another kind.
//
// Not guaranteed: that bounds make sense; package pipeline checks them, and transforms/spend checks
// what must not overflow. The package knows nothing of the others.
package metrickind
