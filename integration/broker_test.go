package integration

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

// kindVariable chooses the broker of the tests: "embedded" (default), or "kafka" for Apache Kafka
// in a process of this machine (internal/testing/realkafka).
const kindVariable = "TOLLGATE_BROKER"

// requireVariable, set to 1, makes tests fail instead of skip if the broker is not available.
const requireVariable = "TOLLGATE_REQUIRE_KAFKA"

// The kinds of brokers.
const (
	embeddedKind = "embedded"
	kafkaKind    = "kafka"
)

// testBroker is a broker that can be killed (−9) and then started again, on the same address and
// with its files.
type testBroker interface {
	Addr() string
	Kill()
	Restart(ctx context.Context) error
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

// startBroker returns the address of a broker: an embedded one in this process for this test alone,
// or the real one that all tests of the binary share. Deployments of different tests have different
// names, and so different topics.
func startBroker(t testing.TB) string {
	t.Helper()
	if kind(t) == embeddedKind {
		return startEmbedded(t)
	}
	return sharedKafka(t)
}

// startBrokerProcess is startBroker with an embedded broker in a process of its own.
func startBrokerProcess(t testing.TB) string {
	t.Helper()
	if kind(t) == embeddedKind {
		return startEmbeddedProcess(t, "127.0.0.1:0", "").Addr()
	}
	return sharedKafka(t)
}

// startOwnBroker starts a broker for this test alone, which keeps its log when it is killed.
func startOwnBroker(t testing.TB) testBroker {
	t.Helper()
	if kind(t) == embeddedKind {
		return startEmbeddedProcess(t, "127.0.0.1:0", t.TempDir())
	}
	return startKafka(t, realkafka.Options{})
}

// startKafka starts a real broker that ends with the test.
func startKafka(t testing.TB, o realkafka.Options) *realkafka.Broker {
	t.Helper()
	broker, err := realkafka.Start(context.Background(), o)
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(func() {
		if err := broker.Close(); err != nil {
			t.Error(err)
		}
	})
	return broker
}

// unavailable skips the test, or fails it if requireVariable demands a real broker.
func unavailable(t testing.TB, err error) {
	t.Helper()
	if os.Getenv(requireVariable) == "1" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// shared starts a real broker for the whole test binary: one JVM per test would take longer than
// the tests. TestMain calls closeShared.
var (
	shared = sync.OnceValues(func() (*realkafka.Broker, error) {
		broker, err := realkafka.Start(context.Background(), realkafka.Options{})
		if err == nil {
			closeShared = broker.Close
		}
		return broker, err
	})
	closeShared = func() error { return nil }
)

func sharedKafka(t testing.TB) string {
	t.Helper()
	broker, err := shared()
	if err != nil {
		unavailable(t, err)
	}
	return broker.Addr()
}

// startEmbedded runs an embedded broker in this process.
func startEmbedded(t testing.TB) string {
	t.Helper()
	broker := must.Have(embedded.Start(embedded.Options{Logger: quiet()}))
	t.Cleanup(broker.Close)
	return broker.Addr()
}

// embeddedProcess is an embedded broker in a process of its own, which ends with the test at the
// latest.
type embeddedProcess struct {
	*process
	t         testing.TB
	addr, dir string
}

// startEmbeddedProcess runs a broker that keeps its log in a directory; empty: in memory.
func startEmbeddedProcess(t testing.TB, addr, dir string) *embeddedProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=broker", brokerVariable+"="+addr, brokerDirVariable+"="+dir)
	must.Have(cmd.StdinPipe()) // which ends with this process
	stdout := bufio.NewReader(must.Have(cmd.StdoutPipe()))
	line := make(chan string, 1)
	p := startProcess(t, cmd, func() {
		text, _ := stdout.ReadString('\n') // without a line, the address is empty
		line <- strings.TrimSpace(text)
	})
	b := &embeddedProcess{process: p, t: t, addr: <-line, dir: dir}
	if b.addr == "" {
		t.Fatalf("starting the broker: %s", tail(&p.stderr))
	}
	return b
}

func (b *embeddedProcess) Addr() string { return b.addr }
func (b *embeddedProcess) Kill()        { b.kill() }

// Restart implements testBroker.
func (b *embeddedProcess) Restart(context.Context) error {
	b.t.Helper()
	*b = *startEmbeddedProcess(b.t, b.addr, b.dir)
	return nil
}
