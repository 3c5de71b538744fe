package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// troubleOf waits for a trouble whose text contains a word.
func troubleOf(t *testing.T, c *Client, word string) Trouble {
	t.Helper()
	var found Trouble
	await.That(t, time.Minute, fmt.Sprintf("a trouble says %q", word), func() bool {
		list := c.Troubles()
		i := slices.IndexFunc(list, func(tr Trouble) bool { return strings.Contains(tr.Doing, word) })
		if i >= 0 {
			found = list[i]
		}
		return i >= 0
	})
	return found
}

// Troubles returns the calls being retried, with their causes, until they succeed.
func TestRuleWhatIsTriedAgainIsTold(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "")
	before := time.Now()
	mustAppend(t, p, "a")
	if appended := c.Appended("t"); appended.Before(before) || !c.Appended("u").IsZero() {
		t.Errorf("written after %v, and so it says %v", before, appended)
	}
	if err := c.Ping(t.Context()); err != nil || len(c.Troubles()) != 0 {
		t.Fatalf("a cluster that works: %v, %v", err, c.Troubles())
	}
	before = time.Now()
	cluster.Close()
	ctx, cancel := context.WithCancel(t.Context())
	f := c.NewFetcher()
	defer f.Close()
	var calls sync.WaitGroup
	calls.Go(func() { _, _ = p.Append(ctx, messages("b")) })
	calls.Go(func() { _, _ = c.Offsets(ctx, "t", 0) })
	calls.Go(func() {
		for ctx.Err() == nil {
			_, _ = f.Poll(ctx, []Fetch{{Topic: "t", Offset: 1}}, 1, 50*time.Millisecond)
		}
	})
	for _, doing := range []string{"appending", "asking for offsets", `reading topic "t" partition 0`} {
		if tr := troubleOf(t, c, doing); tr.Since.Before(before) || tr.Cause == nil {
			t.Errorf("%s: %+v", doing, tr)
		}
	}
	began := troubleOf(t, c, "reading").Since
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if tr := troubleOf(t, c, "reading"); !tr.Since.Equal(began) {
			t.Fatalf("a trouble since %v began anew at %v", began, tr.Since)
		}
	}
	if err := c.Ping(t.Context()); err == nil {
		t.Error("Ping: a broker answers")
	}
	cancel()
	calls.Wait()
	must.Have(f.Poll(t.Context(), []Fetch{{Topic: "other"}}, 1, time.Millisecond))
	if list := c.Troubles(); len(list) != 1 || !strings.Contains(list[0].Doing, "other") {
		t.Errorf("still troubles: %v", list)
	}
}

// A frozen broker keeps its connections and accepts new ones, but responds to nothing. It is in
// trouble from the first unanswered request until it responds, although calls give up requests and
// send them again.
func TestRuleAFrozenBrokerStaysATrouble(t *testing.T) {
	t.Parallel()
	const request = 100 * time.Millisecond
	cluster := startBroker(t, kfake.SeedTopics(1, "t"))
	c, err := Dial(t.Context(), Config{
		Brokers: cluster.ListenAddrs(), waits: waits{dial: 10 * request, request: request, silent: request / 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	thaw := make(chan struct{})
	// blocks the whole cluster
	cluster.Control(func(kmsg.Request) (kmsg.Response, error, bool) { <-thaw; return nil, nil, false })
	begin := time.Now()
	ended := make(chan error, 1)
	go func() { _, err := c.Partitions(t.Context(), "t"); ended <- err }()
	troubleOf(t, c, "waiting for broker")
	for end := time.Now().Add(5 * request); time.Now().Before(end); time.Sleep(time.Millisecond) {
		list := c.Troubles()
		first := slices.ContainsFunc(list, func(tr Trouble) bool { return tr.Since.Sub(begin) < request })
		if !first && time.Since(begin) > 3*request/2 {
			t.Fatalf("still frozen since %v, and the troubles are %v", begin, list)
		}
	}
	close(thaw)
	if err := <-ended; err != nil || len(c.Troubles()) > 0 {
		t.Errorf("after its answer: %v, %v", err, c.Troubles())
	}
}

// A call to a broker that does not respond ends with its context, and with Close, and leaves no
// connection: in the middle of a request, and while connecting.
func TestACallToASilentBrokerEndsAndLeavesNoConnection(t *testing.T) {
	t.Parallel()
	const calls = 10
	cluster, inRequest := setup(t, 1)
	release := make(chan struct{})
	defer close(release)
	cluster.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		<-release
		return nil, nil, false
	})
	silent := accept(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }) // the test ends once all are closed
	cfg := must.Have(Config{Brokers: []string{silent}}.withDefaults())
	inDial := newClient(cfg)
	for name, c := range map[string]*Client{"request": inRequest, "connection": inDial} {
		for range calls {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			if _, err := c.Partitions(ctx, "t"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			cancel()
		}
		await.That(t, dialTimeout/2, name+": no connection is left", func() bool {
			defer c.lock()()
			return len(c.wires) == 0
		})
		ended := make(chan error, 1)
		go func() { _, err := c.Partitions(context.Background(), "t"); ended <- err }()
		await.That(t, dialTimeout/2, name+": a connection is made", func() bool {
			defer c.lock()()
			return len(c.wires) > 0
		})
		c.Close()
		select {
		case err := <-ended:
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(8 * time.Second): // dialTimeout is 10 s, requestTimeout 30 s
			t.Errorf("%s: still waiting", name)
		}
	}
}

// kafka-go's Transport makes no connection for its own discovery of brokers.
func TestConnectionsAreMadeForCallsOnly(t *testing.T) {
	t.Parallel()
	if _, err := newClient(Config{}).connect(t.Context(), "tcp", "127.0.0.1:1"); err == nil ||
		errors.As(err, new(*stageError)) {
		t.Errorf("a connection that no call has asked for: %v", err)
	}
}

// Brokers that respond to a request are not gone, however long no call has sent one. Gone reports
// it within the ten seconds in which a drain without a broker is to end.
func TestGoneIsSaidInTime(t *testing.T) {
	t.Parallel()
	if most := goneAfter + goneAfter/20 + gonePing; most > 8*time.Second {
		t.Errorf("that takes up to %v", most)
	}
	long.Test(t)
	_, c := setup(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), goneAfter+2*time.Second)
	defer cancel()
	if err := c.Gone(ctx); err != nil {
		t.Error(err)
	}
}
