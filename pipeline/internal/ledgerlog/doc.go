// Package ledgerlog keeps the ledger of the account shards on a Kafka topic: one partition for each
// shard, taken under a fence, read as a whole when it is taken, appended to with the deltas of
// every turn.
//
// Guarantees: an append that has been waited for is durable; nothing is read or appended by an
// epoch that is not the newest. A foreign record is passed over and told.
package ledgerlog
