package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// serveEnv makes the test binary run a broker instead of the tests: the process that is killed.
const serveEnv = "TOLLGATE_EMBEDDED_TEST_SERVE"

func TestMain(m *testing.M) {
	if spec := os.Getenv(serveEnv); spec != "" {
		addr, dir, _ := strings.Cut(spec, "|")
		b, err := embedded.Start(embedded.Options{Addr: addr, DataDir: dir})
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println("ready", b.Addr())
		select {}
	}
	goleak.VerifyTestMain(m)
}

func dial(t *testing.T, addr string) *kafkalog.Client {
	t.Helper()
	c := must.Have(kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{addr}, RetryFor: 20 * time.Second}))
	t.Cleanup(c.Close)
	return c
}

func start(t *testing.T, o embedded.Options) *embedded.Broker {
	t.Helper()
	b := must.Have(embedded.Start(o))
	t.Cleanup(b.Close)
	return b
}

func read(t *testing.T, c *kafkalog.Client) (values []string) {
	t.Helper()
	o := must.Have(c.Offsets(t.Context(), "t", 0))
	err := c.ReadRange(t.Context(), "t", 0, o.Start, o.High, func(r kafkalog.Record) error {
		values = append(values, string(r.Value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestRecordsOfThePastAreKept(t *testing.T) {
	b := start(t, embedded.Options{})
	c := dial(t, b.Addr())
	must.Succeed(t, c.CreateTopics(t.Context(),
		kafkalog.TopicSpec{Name: "t", Partitions: 1, Config: map[string]string{"segment.bytes": "100"}}))
	p := must.Have(c.NewProducer(t.Context(), "t", 0, ""))
	for i := range 20 {
		must.Have(p.Append(t.Context(), []kafkalog.Message{{Value: []byte("x"), Timestamp: kafkalog.At(int64(i + 1))}}))
	}
	b.ApplyRetention()
	if n := len(read(t, c)); n != 20 {
		t.Errorf("%d of 20 records are left", n)
	}
}

// A client outlives a broker that is stopped and started again on the same address and data.
func TestRestartKeepsTheLogAndItsClients(t *testing.T) {
	dir := t.TempDir()
	b := start(t, embedded.Options{DataDir: dir})
	c := dial(t, b.Addr())
	must.Succeed(t, c.CreateTopics(t.Context(), kafkalog.TopicSpec{Name: "t", Partitions: 1}))
	old := must.Have(c.NewProducer(t.Context(), "t", 0, "tx"))
	p := must.Have(c.NewProducer(t.Context(), "t", 0, "tx"))
	f := c.NewFetcher()
	var want []string
	for i := range 5 {
		must.Have(p.Append(t.Context(), []kafkalog.Message{{Value: fmt.Append(nil, i), Timestamp: kafkalog.Now()}}))
		want = append(want, fmt.Sprint(i))
		gots, err := f.Poll(t.Context(), []kafkalog.Fetch{{Topic: "t", Offset: int64(i)}}, 1, 10*time.Second)
		if err != nil || len(gots) != 1 || len(gots[0].Records) != 1 {
			t.Fatalf("Poll = %+v, %v", gots, err)
		}
		b.Close()
		b = start(t, embedded.Options{Addr: b.Addr(), DataDir: dir})
	}
	if got := read(t, c); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("log holds %v, want %v", got, want)
	}
	if _, err := old.Append(t.Context(),
		[]kafkalog.Message{{Value: []byte("late"), Timestamp: kafkalog.Now()}}); !errors.Is(err, kafkalog.ErrFenced) {
		t.Errorf("append of a producer that was fenced before the restarts: %v", err)
	}
}

func TestKilledBrokerLosesNothingAcknowledged(t *testing.T) {
	long.Test(t)
	dir, addr := t.TempDir(), freeAddr(t)
	proc := serve(t, addr, dir)
	c := dial(t, addr)
	must.Succeed(t, c.CreateTopics(t.Context(), kafkalog.TopicSpec{Name: "t", Partitions: 1}))
	p := must.Have(c.NewProducer(t.Context(), "t", 0, "tx"))
	const records = 300
	done := make(chan error, 1)
	var acknowledged atomic.Int64
	go func() {
		for i := range records {
			if _, err := p.Append(context.Background(),
				[]kafkalog.Message{{Value: fmt.Append(nil, i), Timestamp: kafkalog.Now()}}); err != nil {
				done <- err
				return
			}
			acknowledged.Add(1)
			time.Sleep(2 * time.Millisecond) // so that no kill finds all of them appended
		}
		done <- nil
	}()
	for range 4 {
		before := acknowledged.Load()
		await.That(t, time.Minute, "the broker takes 30 more records", func() bool {
			return acknowledged.Load() >= before+30
		})
		kill(proc)
		proc = serve(t, addr, dir)
	}
	must.Succeed(t, <-done)
	got := read(t, c)
	if len(got) != records {
		t.Fatalf("%d records for %d appends", len(got), records)
	}
	for i, v := range got {
		if v != fmt.Sprint(i) {
			t.Fatalf("offset %d has %s", i, v)
		}
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return l.Addr().String()
}

// serve runs a broker in a process of its own and returns once it listens.
func serve(t *testing.T, addr, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveEnv+"="+addr+"|"+dir)
	out := must.Have(cmd.StdoutPipe())
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() { kill(cmd) })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready") {
		t.Fatalf("starting a broker process: %q, %v", line, err)
	}
	return cmd
}

func kill(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func TestTakenAddressIsAnError(t *testing.T) {
	a := start(t, embedded.Options{})
	if _, err := embedded.Start(embedded.Options{Addr: a.Addr()}); err == nil {
		t.Error("two brokers on one address")
	}
	if _, err := embedded.Start(embedded.Options{Addr: "nonsense"}); err == nil {
		t.Error("an address without a port")
	}
}
