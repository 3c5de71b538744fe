// Package embedded runs a Kafka broker inside the process, for demonstrations and tests.
//
// It starts github.com/twmb/franz-go/pkg/kfake. The broker has a real listener that any Kafka
// client can use, and keeps records of any age. With a data directory, its log survives the end of
// the process, even a kill. It is not a database: there is one broker and no replication, and a
// crash of the machine (not of the process) can lose the newest records.
//
// It differs from Apache Kafka (as seen in 4.3.1) in two ways. Timestamps are always the
// producer's, whatever the message.timestamp.type. A stale producer epoch is refused on every
// partition as soon as another producer has taken the transactional id; Kafka refuses it only on
// partitions to which the new owner has written.
package embedded
