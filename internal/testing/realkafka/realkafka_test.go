package realkafka_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/sasl/scram"
	"go.uber.org/goleak"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// need skips where there is no Kafka, unless one is demanded.
func need(t *testing.T) {
	t.Helper()
	long.Test(t)
	err := realkafka.Missing()
	switch {
	case err == nil:
	case os.Getenv("TOLLGATE_REQUIRE_KAFKA") == "1":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

func start(t *testing.T, o realkafka.Options) *realkafka.Broker {
	t.Helper()
	b, err := realkafka.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func dial(t *testing.T, c kafkalog.Config) *kafkalog.Client {
	t.Helper()
	c.RetryFor = 30 * time.Second
	client, err := kafkalog.Dial(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestMissingJarsAreNamed(t *testing.T) {
	t.Setenv(realkafka.DirVariable, t.TempDir())
	_, err := realkafka.Start(context.Background(), realkafka.Options{})
	if !errors.Is(err, realkafka.ErrMissing) {
		t.Fatalf("Start = %v, want ErrMissing", err)
	}
	for _, want := range []string{".ci/run kafka", os.Getenv(realkafka.DirVariable)} {
		if _, lookErr := realkafka.Jars(); lookErr == nil || !strings.Contains(lookErr.Error(), want) {
			t.Errorf("%v does not name %s", lookErr, want)
		}
	}
}

func TestMissingJavaIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := realkafka.Missing(); !errors.Is(err, realkafka.ErrMissing) || !strings.Contains(err.Error(), "java") {
		t.Errorf("Missing = %v", err)
	}
}

func TestSettingsOfTheCallerWin(t *testing.T) {
	text := realkafka.Properties("0.0.0.0:1", "example:2", "127.0.0.1:3", "/data", map[string]string{"log.retention.ms": "7", "x": "a\nb\\"})
	for _, want := range []string{
		"log.retention.ms=7\n", "listeners=CONTROLLER://127.0.0.1:3,PLAINTEXT://0.0.0.0:1\n",
		"advertised.listeners=PLAINTEXT://example:2\n", "log.dirs=/data\n", `x=a\nb\\` + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the settings lack %q:\n%s", want, text)
		}
	}
}

// A broker that is killed, one that is stopped, and what a client sees of it.
func TestABrokerKeepsItsLogAndItsAddress(t *testing.T) {
	need(t)
	dir := t.TempDir()
	b := start(t, realkafka.Options{Dir: dir, Listeners: []realkafka.Listener{{Name: "PROXIED", Protocol: "PLAINTEXT", Advertised: "proxy:7"}}})
	said, err := os.ReadFile(filepath.Join(dir, "server.properties"))
	if want := "advertised.listeners=PLAINTEXT://" + b.Addr() + ",PROXIED://proxy:7\n"; err != nil || !strings.Contains(string(said), want) {
		t.Errorf("the settings lack %q, %v:\n%s", want, err, said)
	}
	c := dial(t, kafkalog.Config{Brokers: []string{b.Addr()}})
	if err := c.CreateTopics(t.Context(), kafkalog.TopicSpec{Name: "t", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	p, err := c.NewProducer(t.Context(), "t", 0, "tx")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := p.Append(t.Context(), []kafkalog.Message{{Value: fmt.Append(nil, i), Timestamp: kafkalog.Now()}}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			b.Kill()
		} else if err := b.Stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := net.Dial("tcp", b.Addr()); err == nil {
			t.Fatal("a process listens where the broker was")
		}
		if err := b.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	err = c.ReadRange(t.Context(), "t", 0, 0, 3, func(r kafkalog.Record) error {
		got = append(got, string(r.Value))
		return nil
	})
	if err != nil || fmt.Sprint(got) != "[0 1 2]" {
		t.Errorf("the log holds %v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "broker-4.log")); err != nil {
		t.Errorf("the log of the fourth start: %v", err)
	}
}

func TestATemporaryDirectoryIsRemoved(t *testing.T) {
	need(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	b := start(t, realkafka.Options{
		Listeners:  []realkafka.Listener{{Name: "SCRAM", Protocol: "SASL_PLAINTEXT"}},
		ScramUsers: []string{"SCRAM-SHA-256=[name=alice,password=secret]"},
		Settings: map[string]string{
			"listener.name.scram.sasl.enabled.mechanisms":        "SCRAM-SHA-256",
			"listener.name.scram.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
		},
	})
	if b.AddrOf("SCRAM") == b.Addr() {
		t.Error("two listeners have one address")
	}
	mechanism, err := scram.Mechanism(scram.SHA256, "alice", "secret")
	if err != nil {
		t.Fatal(err)
	}
	dial(t, kafkalog.Config{Brokers: []string{b.AddrOf("SCRAM")}, SASL: mechanism})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) != 0 {
		t.Errorf("%d entries are left, %v", len(left), err)
	}
}

func TestABrokerThatCannotStartSaysWhy(t *testing.T) {
	need(t)
	_, err := realkafka.Start(t.Context(), realkafka.Options{Settings: map[string]string{"num.network.threads": "none"}})
	if err == nil || !strings.Contains(err.Error(), "num.network.threads") {
		t.Errorf("Start = %v, want Kafka's own words", err)
	}
}
