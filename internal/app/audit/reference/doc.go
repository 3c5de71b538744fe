// Package reference computes, turn by turn, what the pipeline must release: the outcome of every
// record, caps, allowances, admission, charges, noise and tallies. It is the second opinion that
// package audit compares a deployment with, byte for byte.
//
// It is written to be checked by eye, with slices, maps, and big.Rat for everything that is drawn.
// The amounts in accounts are below 2^62, which Compile checks; a higher price counts as that much.
// Groups of individuals are computed concurrently, and so are keys: none depends on another.
// It shares with the pipeline the codecs (schemas/event: event decoding and filters; schemas:
// account ids, ranks, metric digests, the bytes of a release) and the sampler
// (noisereduction.Draw), and nothing else: windows, turns, lateness, periods, budgets, buckets,
// reservations, charges, the ladder and the stop rule are implemented a second time from the
// definitions.
//
// Guarantees: the results of a Replay are a pure function of the configuration and the records. It
// keeps the events of open windows and all accounts.
package reference
