// Package integration tests the whole pipeline on a broker. It compares the results byte for byte
// with the sequential reference (internal/app/audit/reference), under different partitionings and
// arrival orders, drains, kills (−9), zombies, deleted events and engine restores. It has no
// product code.
//
// Guarantees: a test that verifies a deployment has compared every record of the counts topic,
// every account that ledger and control imply, and all tallies. `go test ./integration` runs a
// small case of each test, and TOLLGATE_LONG=1 many.
//
// The broker is embedded by default; with TOLLGATE_BROKER=kafka it is Apache Kafka in a process of
// this machine (internal/testing/realkafka). Only a real Kafka passes the tests of kafka_*_test.go.
//
// The stages run on the engine for one process. TestEnginesReleaseTheSameBytes compares it with
// Beam's local runner, prism; flink_test.go runs them on Flink.
//
// Not covered: several machines, TLS and SASL.
package integration
