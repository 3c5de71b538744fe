// Package realkafka runs Apache Kafka as a local process, to test features that the embedded broker
// lacks: append times, transactions, compaction, fencing and broker crashes.
//
// A [Broker] is one JVM that is both broker and controller, on free ports of 127.0.0.1, with its
// data in a temporary directory. It can be stopped, killed (−9) and restarted with the same address
// and data. It needs Java 17 or newer, and the jars that deploy/kafka-local/fetch.sh downloads;
// [Missing] names what is missing. This package downloads nothing.
//
// Guarantees: Start returns a broker that has responded to a client. The process ends with its
// parent (on Linux, even if the parent is killed). The broker keeps records of any timestamp, and
// creates topics only on request.
//
// Not guaranteed: that no other process takes a chosen port before the broker listens.
package realkafka
