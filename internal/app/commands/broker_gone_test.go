package commands

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/tollgate-dp/tollgate/internal/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// A run that is started while its broker restarts waits for it, and one that is to end while no
// broker answers ends soon.
func TestRuleARunOutlivesARestartOfItsBrokerAndEndsWithoutOne(t *testing.T) {
	long.Test(t)
	dir := t.TempDir()
	b, err := embedded.Start(embedded.Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	addr := b.Addr()
	cfg := deploymentFile(t, addr)
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1", "--start", "2025-03-01")
	mustRun(t, "replay", "--config", cfg, "--input", visits(t, true), "--header")
	b.Close()

	code, _, stderr := run(t, "run", "--config", cfg, "--wait-for-broker", "0s")
	if code != exitError || !strings.Contains(stderr, "nothing listens there") || strings.Contains(stderr, "SASL") {
		t.Errorf("without waiting: exit %d, stderr %s", code, stderr)
	}
	start := func(args ...string) *begun { return begin(append([]string{"run", "--config", cfg}, args...)...) }

	r := start("--until-end", "--wait-for-broker", "2m")
	says(t, &r.stderr, "no broker answers, waiting for one for up to 2m0s")
	if b, err = embedded.Start(embedded.Options{Addr: addr, DataDir: dir}); err != nil {
		t.Fatal(err)
	}
	defer func() { b.Close() }()
	if code := <-r.over; code != exitOK || !strings.Contains(r.stdout.String(), "north") {
		t.Errorf("a start during a restart: exit %d, stdout %s, stderr %s", code, &r.stdout, &r.stderr)
	}

	r = start()
	says(t, &r.stdout, "2025-03-06") // the second turn of this run
	b.Close()
	begin := time.Now()
	terminate(t)
	if code := <-r.over; code != exitError || !strings.Contains(r.stderr.String(), "no broker answers: the run ended with unfinished work, which the next run repeats") || time.Since(begin) > 20*time.Second {
		t.Errorf("a signal without a broker, after %v: exit %d, stderr %s", time.Since(begin), code, &r.stderr)
	}

	r = start("--wait-for-broker", "10m")
	says(t, &r.stderr, "no broker answers, waiting for one")
	begin = time.Now()
	terminate(t)
	if code := <-r.over; code != exitError || !strings.Contains(r.stderr.String(), "before the run began anything") || strings.Contains(r.stderr.String(), "turn") || time.Since(begin) > 20*time.Second {
		t.Errorf("a signal during the wait, after %v: exit %d, stderr %s", time.Since(begin), code, &r.stderr)
	}
}

// hangUps is how many connections a hangsUp cuts: to connect anew takes two attempts.
const hangUps = 4

// hangsUp is a listener that hangs up on some connections, from one on.
type hangsUp struct {
	net.Listener
	accepted, first atomic.Int32 // first: 0 for none
}

func (l *hangsUp) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		n, first := l.accepted.Add(1), l.first.Load()
		if err != nil || first == 0 || n < first || n >= first+hangUps {
			return c, err
		}
		c.Close()
	}
}

// A run outlives a cut of the network right after a broker has answered: it keeps the client that
// reached the broker, and that client asks again.
func TestARunOutlivesACutAfterItsBrokerAnswered(t *testing.T) {
	t.Parallel()
	long.Test(t)
	l := &hangsUp{}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{"log.retention.ms": "-1"}),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) {
			real, err := net.Listen(network, "127.0.0.1:0")
			l.Listener = real
			return l, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	cfg := deploymentFile(t, cluster.ListenAddrs()[0])
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1", "--start", "2025-03-01")
	mustRun(t, "replay", "--config", cfg, "--input", visits(t, true), "--header")
	l.first.Store(l.accepted.Load() + 2) // the wait for a broker makes the connection before it
	if stdout, _ := mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "2m"); !strings.Contains(stdout, "north") {
		t.Errorf("stdout %s", stdout)
	}
	if n := l.accepted.Load() - l.first.Load() + 1; n <= hangUps {
		t.Errorf("the run made %d connections after the first, which are too few for this test", n)
	}
}

// A replay whose broker is gone ends soon at a signal.
func TestAReplayEndsWithoutABroker(t *testing.T) {
	long.Test(t)
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	cfg := deploymentFile(t, b.Addr())
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1")
	input := visits(t, true)
	r := begin("replay", "--config", cfg, "--input", input, "--header", "--rate", "20")
	written(t, b.Addr(), "visits", 10)
	b.Close()
	begin := time.Now()
	terminate(t)
	code, stderr := <-r.over, r.stderr.String()
	if code != exitError || !strings.Contains(stderr, "no broker has answered since") || strings.Contains(stderr, "turn") || time.Since(begin) > 20*time.Second {
		t.Errorf("after %v: exit %d, %s", time.Since(begin), code, stderr)
	}
}
