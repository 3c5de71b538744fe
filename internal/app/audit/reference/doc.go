// Package reference computes, turn by turn, what the pipeline must release: the outcome of every
// record, caps, allowances, admission, charges, noise and tallies. It is the second opinion that
// package audit compares a deployment with, byte for byte.
//
// The package is written to be checked by eye: it uses slices, maps, and big.Rat for everything
// that is drawn. The amounts in accounts are below 2^62, which Compile checks; a higher price is
// lowered to 2^62 − 1. Groups of individuals are computed concurrently, and so are keys, because
// they do not depend on each other.
//
// The package shares with the pipeline only the codecs (schemas/event: event decoding and filters;
// schemas: account ids, ranks, metric digests, the bytes of a release) and the sampler
// (noisereduction.Draw). Windows, turns, lateness, periods, budgets, buckets, reservations,
// charges, the ladder and the stop rule are implemented a second time from their definitions.
//
// Guarantees: the results of a Replay are a pure function of the configuration and the records. A
// Replay keeps the events of open windows and all accounts in memory.
package reference
