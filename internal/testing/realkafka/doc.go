// Package realkafka runs Apache Kafka as a process of this machine, for tests that the embedded
// broker cannot prove: append times, transactions, compaction, fencing, crashes of the broker.
//
// A [Broker] is one JVM, broker and controller at once, on free ports of 127.0.0.1, with its data
// in a directory of its own. It can be stopped, killed (−9) and started again on the same address
// and data. It needs java 17 or newer and the jars that deploy/kafka-local/fetch.sh brings;
// [Missing] says what is not there. Nothing is downloaded here.
//
// Guarantees: Start returns a broker that has answered a client. The process does not outlive the
// one that started it (on Linux also where that one is killed). Records are kept whatever their
// timestamps say, and topics are made on request only.
//
// Not guaranteed: replication, or that a port chosen for the broker is not taken by another process
// before it listens. Listeners other than the plain one are not waited for one by one: all listen
// before "Kafka Server started".
package realkafka
