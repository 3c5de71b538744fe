// Package embedded runs a Kafka broker inside the process, for demonstrations and tests.
//
// It is github.com/twmb/franz-go/pkg/kfake behind one constructor: a real listener that any Kafka client can
// use, records of any age kept, and, with a data directory, a log that outlives the process, also when it is
// killed. It is not a database: one broker, no replication, and a crash of the machine (not of the process) can lose
// the newest records.
//
// Where it differs from Apache Kafka (seen on 4.3.1): timestamps are always the producer's, whatever
// message.timestamp.type says; a stale producer epoch is refused on every partition as soon as the transactional id
// was taken anew, where Kafka refuses it only on partitions the new owner has written to.
package embedded
