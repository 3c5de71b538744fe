// Package audit recomputes a whole deployment from its topics and keys, turn by turn, and compares
// what the topics have with what they must have: the records of every turn, who was admitted with
// what, every precision and threshold, every published byte, and every account in a snapshot.
//
// The computation is package reference, which shares only codecs and the sampler with a run. If
// events are deleted, a turn is computed from the ledger; if the ledger does not have it either,
// from the next snapshots on.
//
// Guarantees: a report without differences and without unchecked parts means that all of it was
// recomputed and equal. It changes nothing, a run may go on, and a difference names no user and no
// key that was not released. Memory: the events of open windows, accounts, and what is published.
//
// Not guaranteed: that events are those that producers wrote, and that a turn was closed at the
// right moment: if a partition is silent, that depends on a run's clock.
package audit
