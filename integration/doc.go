// Package integration holds the tests of the whole: the pipeline against a broker, compared byte
// for byte with the sequential reference (internal/app/audit/reference), under other partitionings,
// arrival orders, drains, kills (−9), zombies, deleted events and engine restores, and attacked
// with pairs of neighbouring inputs. It has no code for the product.
//
// Guarantees: a test that passes has compared every record of the counts topic, every account that
// ledger and control imply, and all tallies. `go test ./integration` runs one small
// case of each; with TOLLGATE_LONG=1 the same tests run with the numbers that the protocol is
// promised for (200 kills among them, 100 on a real broker).
//
// The broker is the embedded one, or a real Kafka: TOLLGATE_BROKER=kafka runs the same tests
// against a process of this machine (internal/testing/realkafka), TOLLGATE_BROKER=docker against a
// container; kafka_*_test.go holds those that only a real one can pass.
//
// The stages run on the engine for one process. TestEnginesReleaseTheSameBytes compares it byte for
// byte with Beam's local runner, prism.
//
// Not covered: clusters of several brokers, engines of several machines, TLS and SASL.
package integration
