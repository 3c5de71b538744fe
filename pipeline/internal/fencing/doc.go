// Package fencing takes partitions of the ledger and of counts for an epoch: a producer with the
// partition's transactional id, and the marker of an empty transaction, after which the broker
// refuses every older writer. No record is written for that.
//
// Guarantees: of two epochs the newer one ends up with the partition. An older one that is late
// finds out at its next append (accounts.ErrSuperseded).
package fencing
