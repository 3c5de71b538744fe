// Package packing collects the contributions to a turn that is not open yet, and packs them for the
// account shards. It sums them by user, period and label, and orders the batches by account id. It
// also caches the account ids of users, in memory only.
//
// Guarantees: the cost of adding an event does not depend on other labels of its key or on other
// user ids. So nobody can slow down other records with records that pass many filters or whose
// hashes collide. Memory is reused for later turns, and no result points into it. The package is
// not safe for concurrent use.
package packing
