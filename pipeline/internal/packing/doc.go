// Package packing collects the contributions of a turn that is not open yet and packs them for the
// account shards: summed by user, period and label, in batches.
//
// Guarantees: adding an event costs the same whatever labels its key has had before, so that
// records that were made to pass many filters slow no other record down. Not for concurrent use.
package packing
