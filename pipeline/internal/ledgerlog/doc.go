// Package ledgerlog keeps the ledger of the account shards on a Kafka topic: one partition for each
// shard, taken under a fence, read as a whole when it is taken, appended to with the deltas of
// every turn. What is written, and when, is decided in package spend: ledger.go, and checkpoint.go
// for the snapshots of a change; package fencing writes a fence when a partition is taken. The
// formats are in package schemas (ledger_delta.go, ledger_snapshot.go), store.go writes and reads
// here.
//
// Guarantees: an append that has been waited for is durable; a run whose epoch is not the newest
// reads and appends nothing. A foreign record is passed over and told.
package ledgerlog
