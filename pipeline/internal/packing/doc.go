// Package packing collects the contributions of a turn that is not open yet and packs them for the
// account shards: summed by user, period and label, in batches.
//
// Guarantees: adding an event costs the same whatever labels its key has had before. Not for
// concurrent use.
package packing
