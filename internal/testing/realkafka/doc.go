// Package realkafka runs Apache Kafka as a process of this machine, for tests of features that the
// embedded broker lacks: append times, transactions, compaction, fencing, crashes of the broker.
//
// A [Broker] is one JVM, both broker and controller, on free ports of 127.0.0.1, with its data in a
// temporary directory. It can be stopped, killed (−9) and started again on the same address and
// data. It needs Java 17 or newer and the jars that deploy/kafka-local/fetch.sh downloads;
// [Missing] names the missing ones. This package downloads nothing.
//
// Guarantees: Start returns a broker that has responded to a client. The process ends with the one
// that started it (on Linux, even if that one is killed). The broker keeps records of any
// timestamp, and creates topics only on request.
//
// Not guaranteed: that no other process takes a chosen port before the broker listens.
package realkafka
