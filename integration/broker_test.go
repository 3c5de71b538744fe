package integration

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

// kindVariable chooses the broker that the tests run against: "embedded" (default) or "kafka" (a
// process of this machine, see internal/testing/realkafka).
const kindVariable = "TOLLGATE_BROKER"

// requireVariable makes a broker that cannot be had a failure instead of a skip.
const requireVariable = "TOLLGATE_REQUIRE_KAFKA"

// The kinds of brokers.
const (
	embeddedKind = "embedded"
	kafkaKind    = "kafka"
)

// testBroker is a broker that can be lost.
type testBroker interface {
	address() string
	// kill ends it as kill −9 does.
	kill()
	// restart starts it again after a kill, on the same address and with its files.
	restart(t testing.TB)
}

// kind returns the value of kindVariable.
func kind(t testing.TB) string {
	t.Helper()
	switch k := os.Getenv(kindVariable); k {
	case "":
		return embeddedKind
	case embeddedKind, kafkaKind:
		return k
	default:
		t.Fatalf("%s is %q: it must be %s or %s", kindVariable, k, embeddedKind, kafkaKind)
		return ""
	}
}

// onReal is pick for numbers that are smaller on a real broker, where everything takes longer.
func onReal(t testing.TB, onReal, embedded int) int {
	t.Helper()
	if kind(t) == embeddedKind {
		return embedded
	}
	return onReal
}

// needReal skips a test that only a real broker can pass.
func needReal(t testing.TB) {
	t.Helper()
	if kind(t) == embeddedKind {
		t.Skipf("needs a real Kafka: `.ci/run kafka`, or %s=%s", kindVariable, kafkaKind)
	}
}

// startBroker returns the address of a broker: an embedded one of the test's own in this process,
// or the real one that all tests of the binary share. Topics of a real one are there for all:
// deployments of different tests have different names.
func startBroker(t testing.TB) string {
	t.Helper()
	if kind(t) == embeddedKind {
		return startEmbedded(t)
	}
	return theShared.get(t).address()
}

// startBrokerProcess is startBroker with an embedded broker in a process of its own.
func startBrokerProcess(t testing.TB) string {
	t.Helper()
	if kind(t) == embeddedKind {
		return startBrokerAt(t, "127.0.0.1:0", "").address()
	}
	return theShared.get(t).address()
}

// startOwnBroker starts a broker that no other test uses and that outlives being killed.
func startOwnBroker(t testing.TB) testBroker {
	t.Helper()
	if kind(t) == embeddedKind {
		return startBrokerAt(t, "127.0.0.1:0", t.TempDir())
	}
	b, stop, err := startReal()
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(stop)
	return b
}

// startReal starts a real broker; stop ends it.
func startReal() (b testBroker, stop func(), err error) {
	broker, err := realkafka.Start(context.Background(), realkafka.Options{})
	if err != nil {
		return nil, nil, err
	}
	return kafkaProcess{broker}, func() {
		if err := broker.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}, nil
}

// unavailable skips the test, or fails it where a real broker was demanded.
func unavailable(t testing.TB, err error) {
	t.Helper()
	if os.Getenv(requireVariable) == "1" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// kafkaProcess is Apache Kafka as a process of this machine.
type kafkaProcess struct{ broker *realkafka.Broker }

func (k kafkaProcess) address() string { return k.broker.Addr() }
func (k kafkaProcess) kill()           { k.broker.Kill() }

func (k kafkaProcess) restart(t testing.TB) {
	t.Helper()
	must.Succeed(t, k.broker.Restart(t.Context()))
}

// sharedBroker is a real broker that is started once, by the first test that needs it.
type sharedBroker struct {
	once   sync.Once
	broker testBroker
	stop   func()
	err    error
}

// theShared belongs to the whole test binary: to start a JVM for every test would take longer than
// the tests.
var theShared sharedBroker

func (s *sharedBroker) get(t testing.TB) testBroker {
	t.Helper()
	s.once.Do(func() { s.broker, s.stop, s.err = startReal() })
	if s.err != nil {
		unavailable(t, s.err)
	}
	return s.broker
}

// close ends it when all tests are over.
func (s *sharedBroker) close() {
	if s.stop != nil {
		s.stop()
	}
}
