// Package ledgerlog keeps the ledger of the account shards on a Kafka topic, one partition for each
// shard. It acquires a partition under a fence (package fencing), reads all of it, and appends the
// deltas of every turn. Package spend decides the contents and the times of writing: ledger.go, and
// checkpoint.go for the snapshots of a change. Package schemas has the formats (ledger_delta.go,
// ledger_snapshot.go); store.go writes and reads here.
//
// Guarantees: an append that has been waited for is durable; a run whose epoch is not the newest
// reads and appends nothing. A foreign record is skipped and logged.
package ledgerlog
