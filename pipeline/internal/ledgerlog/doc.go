// Package ledgerlog keeps the ledger of the account shards on a Kafka topic, which has one
// partition for each shard. It acquires a partition under a fence (package fencing), reads all of
// it, and appends the deltas of every turn (store.go). Package spend decides what to write and when
// (ledger.go, and checkpoint.go for the snapshots of a change). Package schemas defines the formats
// (ledger_delta.go, ledger_snapshot.go).
//
// Guarantees: an append is durable once the wait for it has succeeded. A run whose epoch is not the
// newest can neither acquire a partition nor append to it. Foreign records are skipped and logged.
package ledgerlog
