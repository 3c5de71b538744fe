// Package reference computes, one record after the other and in one goroutine, what the pipeline
// must release: the outcome of every record, caps, allowances, admission, charges, noise and
// tallies. It is the second opinion that package audit compares a deployment with, byte for byte.
//
// It is written to be checked by eye: slices, maps, big.Int and big.Rat, no caches, no concurrency,
// whole inputs in memory; a window is assembled from all events in it and knows nothing of slices.
// It shares with the pipeline the codecs (schemas/event: event decoding and filters; schemas:
// account ids, ranks, metric digests, the bytes of a release) and the sampler
// (noisereduction.Draw), and nothing else: windows, turns, lateness, periods, budgets, buckets,
// reservations, charges, the ladder and the stop rule are written a second time from the
// definitions.
//
// Guarantees: Run is a pure function of its arguments. Not guaranteed: speed or bounded memory.
package reference
