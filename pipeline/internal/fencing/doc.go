// Package fencing acquires partitions of the ledger and of counts for an epoch. It opens a producer
// with the partition's transactional id and commits an empty transaction, which writes only a
// marker. After that marker the broker rejects writes by every older producer.
//
// Guarantees: the newer of two epochs gets the partition, and the older one fails at its next
// append (accounts.ErrSuperseded).
package fencing
