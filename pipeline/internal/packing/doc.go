// Package packing collects the contributions of a turn that is not open yet and packs them for the
// account shards: summed by user, period and label, in batches in the order of account ids. It
// also remembers the account ids of known users, in memory only.
//
// Guarantees: adding an event costs the same whatever labels its key has had before and whatever
// user ids there are. So no one can craft records, by passing many filters or by colliding hashes,
// that slow other records down. Memory is reused for later turns, and nothing that was handed on
// points into it. Not for concurrent use.
package packing
