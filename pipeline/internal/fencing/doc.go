// Package fencing acquires partitions of the ledger and of counts for an epoch: it opens a producer
// with the partition's transactional id and commits an empty transaction. After the marker of that
// transaction the broker refuses every older writer. No record is written for it.
//
// Guarantees: of two epochs the newer one ends up with the partition. An older one that is late
// fails at its next append (accounts.ErrSuperseded).
package fencing
