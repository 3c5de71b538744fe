// Package audit recomputes a whole deployment from its topics and keys, turn by turn, and compares
// the result with the topics: the records of every turn, every admission and contribution, every
// precision and threshold, every published byte, and every account in a snapshot.
//
// The computation is in package reference, which shares only codecs and the sampler with a run. If
// events have been deleted, a turn is computed from the ledger; if the ledger no longer has the
// turn either, the audit continues with the next snapshots.
//
// Guarantees: a report without differences and unchecked parts means that everything was recomputed
// and is equal. An audit changes nothing, runs may continue meanwhile, and a difference names no
// user and no unreleased key. Memory: the events of open windows, accounts, and published values.
//
// Not guaranteed: that the events are those that producers wrote, or that a turn was closed at the
// right moment: if a partition is silent, that depends on a run's clock.
package audit
