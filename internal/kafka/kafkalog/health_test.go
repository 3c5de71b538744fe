package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// hangingUp listens like a broker that stops or starts: it hangs up on the first connections after
// their first request, and then does what comes after.
func hangingUp(t *testing.T, times int, after func(l net.Listener, c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if n > times {
				after(l, c)
				continue
			}
			_, _ = c.Read(make([]byte, 100))
			c.Close()
			if n == times {
				after(l, nil)
			}
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// A broker that stops hangs up, and is gone afterwards: nothing is wrong with the configuration.
func TestRuleABrokerThatStopsIsNotAskedForSASL(t *testing.T) {
	t.Parallel()
	addr := hangingUp(t, 1, func(l net.Listener, _ net.Conn) { l.Close() })
	_, err := Dial(t.Context(), Config{Brokers: []string{addr}})
	if !errors.Is(err, ErrUnreachable) || strings.Contains(err.Error(), "SASL") {
		t.Errorf("a broker that has stopped: %v", err)
	}
	if !MayComeUp(err) {
		t.Errorf("not worth waiting: %v", err)
	}
}

// A broker that starts hangs up once, and works afterwards.
func TestABrokerThatStartsIsAskedOnceMore(t *testing.T) {
	t.Parallel()
	target := startBroker(t).ListenAddrs()[0]
	addr := hangingUp(t, 1, func(_ net.Listener, c net.Conn) {
		if c == nil {
			return
		}
		up, err := net.Dial("tcp", target)
		if err != nil {
			t.Error(err)
			return
		}
		go func() { _, _ = io.Copy(up, c); up.Close() }()
		go func() { _, _ = io.Copy(c, up); c.Close() }()
	})
	c, err := Dial(t.Context(), Config{Brokers: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestWhatMayComeUp(t *testing.T) {
	t.Parallel()
	l := startListeners(t)
	for name, tt := range map[string]struct {
		cfg  Config
		want bool
	}{
		"nothing listens": {Config{Brokers: []string{l.free}}, true},
		"hangs up":        {Config{Brokers: []string{l.hangsUp}}, true},
		"one of two":      {Config{Brokers: []string{l.free, l.closed}}, true},
		"TLS missing":     {Config{Brokers: []string{l.http}}, false},
		"no address":      {Config{}, false},
	} {
		_, err := Dial(t.Context(), tt.cfg)
		if got := MayComeUp(err); got != tt.want {
			t.Errorf("%s: MayComeUp = %v (%v)", name, got, err)
		}
	}
}

// troubleOf waits for a trouble whose text has a word in it.
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

// Troubles returns what is tried again, with its cause, until it is over.
func TestRuleWhatIsTriedAgainIsTold(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "")
	mustAppend(t, p, "a")
	f := c.NewFetcher()
	defer f.Close()
	if _, err := f.Poll(t.Context(), []Fetch{{Topic: "t"}}, 1, time.Second); err != nil {
		t.Fatal(err)
	}
	if list := c.Troubles(); len(list) != 0 {
		t.Fatalf("troubles of a cluster that works: %v", list)
	}
	if err := c.Ping(t.Context()); err != nil || time.Since(c.Answered()) > 10*time.Second {
		t.Fatalf("Ping: %v, answered %v", err, c.Answered())
	}
	before := time.Now()
	cluster.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}, 3)
	go func() { _, _ = p.Append(ctx, messages("b")); ended <- struct{}{} }()
	go func() { _, _ = c.Offsets(ctx, "t", 0); ended <- struct{}{} }()
	go func() {
		for ctx.Err() == nil {
			_, _ = f.Poll(ctx, []Fetch{{Topic: "t", Offset: 1}}, 1, 50*time.Millisecond)
		}
		ended <- struct{}{}
	}()
	for _, doing := range []string{"appending", "asking for offsets", `reading topic "t" partition 0`} {
		tr := troubleOf(t, c, doing)
		if tr.Since.Before(before) || tr.Cause == nil {
			t.Errorf("%s: %+v", doing, tr)
		}
	}
	if err := c.Ping(t.Context()); err == nil {
		t.Error("Ping: a broker answers")
	}
	began := troubleOf(t, c, "reading").Since
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if tr := troubleOf(t, c, "reading"); !tr.Since.Equal(began) {
			t.Fatalf("a trouble since %v began anew at %v", began, tr.Since)
		}
	}
	cancel()
	for range 3 {
		<-ended
	}
	if _, err := f.Poll(t.Context(), []Fetch{{Topic: "other"}}, 1, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for _, tr := range c.Troubles() {
		if !strings.Contains(tr.Doing, "other") {
			t.Errorf("%q is still a trouble", tr.Doing)
		}
	}
}

// The silence of a broker ends with an answer, or when no call waits for it any more; not when a
// request is given up.
func TestRuleOnlyAnAnswerEndsASilence(t *testing.T) {
	t.Parallel()
	const addr = "broker:9092"
	ask := func(h *health) { h.asked(addr) }
	giveUp := func(h *health) { h.heard(addr, os.ErrDeadlineExceeded, true) }
	answer := func(h *health) { h.heard(addr, nil, false) }
	forget := func(h *health) { h.silent[addr].gaveUp = time.Now().Add(-2 * silentUntil) }
	for name, tt := range map[string]struct {
		then   []func(h *health) // a request has waited for an hour
		silent bool
	}{
		"nothing":                    {nil, true},
		"timeout":                    {[]func(*health){giveUp}, true},
		"timeout, asked again":       {[]func(*health){giveUp, ask}, true},
		"answer":                     {[]func(*health){answer}, false},
		"answer to another":          {[]func(*health){ask, answer}, false},
		"broken":                     {[]func(*health){func(h *health) { h.heard(addr, io.EOF, false) }}, false},
		"answer after a timeout":     {[]func(*health){giveUp, ask, answer}, false},
		"no call asks":               {[]func(*health){giveUp, forget}, false},
		"no call has asked for long": {[]func(*health){giveUp, forget, ask}, false},
		"another broker answers": {[]func(*health){func(h *health) {
			h.asked("other:9092")
			h.heard("other:9092", nil, false)
		}}, true},
	} {
		h := newHealth(silentAfter)
		c := &Client{health: h}
		h.asked(addr)
		if list := c.Troubles(); len(list) > 0 {
			t.Fatalf("troubles of a request that was just sent: %v", list)
		}
		longAgo := time.Now().Add(-time.Hour)
		h.silent[addr].since = longAgo
		for _, then := range tt.then {
			then(h)
		}
		list := c.Troubles()
		if (len(list) > 0) != tt.silent || tt.silent && !list[0].Since.Equal(longAgo) {
			t.Errorf("%s: troubles %v, want one: %v", name, list, tt.silent)
		}
	}
}

// A broker that is frozen (its connections stay, and new ones are accepted, but nothing is
// answered) is in trouble from the first request that it does not answer until it does, however
// often requests are given up and sent again meanwhile.
func TestRuleAFrozenBrokerStaysATrouble(t *testing.T) {
	t.Parallel()
	const request = 100 * time.Millisecond
	cluster := startBroker(t)
	c, err := Dial(t.Context(), Config{
		Brokers: cluster.ListenAddrs(), waits: waits{dial: 10 * request, request: request, silent: request / 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.CreateTopics(t.Context(), TopicSpec{Name: "t", Partitions: 1, Replication: 1}); err != nil {
		t.Fatal(err)
	}
	var warm sync.WaitGroup
	for range 4 { // connections that every call tries first
		warm.Go(func() { _, _ = c.Partitions(t.Context(), "t") })
	}
	warm.Wait()
	thaw := make(chan struct{})
	melt := sync.OnceFunc(func() { close(thaw) })
	cluster.Control(func(kmsg.Request) (kmsg.Response, error, bool) { <-thaw; return nil, nil, false }) // blocks the whole cluster
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	defer melt()
	f := c.NewFetcher()
	defer f.Close()
	calls.Go(func() {
		for ctx.Err() == nil {
			_, _ = f.Poll(ctx, []Fetch{{Topic: "t"}}, 1, request/10)
		}
	})
	calls.Go(func() {
		for ctx.Err() == nil {
			_, _ = c.Offsets(ctx, "t", 0)
			_ = sleep(ctx, time.Millisecond)
		}
	})
	const waiting = "waiting for broker" // a call that is tried again is a trouble of its own
	first := troubleOf(t, c, waiting)
	for end := time.Now().Add(15 * request); time.Now().Before(end); time.Sleep(time.Millisecond) {
		list := c.Troubles()
		i := slices.IndexFunc(list, func(tr Trouble) bool { return strings.HasPrefix(tr.Doing, waiting) })
		if i < 0 || list[i].Since.After(first.Since) {
			t.Fatalf("still frozen, and in trouble since %v before, now %v", first.Since, list)
		}
		all := append(c.Silent(), c.Away()...)
		if len(all) == 0 || all[0].Since.After(first.Since) {
			t.Fatalf("still frozen, and away since %v: %+v", first.Since, all)
		}
	}
	melt()
	await.That(t, silentUntil/2, "the broker answers again, and is no trouble any more", // else it is forgotten anyway
		func() bool { return len(c.Troubles()) == 0 })
}

// A call to a broker that does not answer ends with its context, and with Close, and leaves no
// connection: in the middle of a request, and of making a connection.
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
	cfg, err := Config{Brokers: []string{silent}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
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
	_, c := setup(t, 1)
	if _, err := c.connect(t.Context(), "tcp", c.addresses()[0]); err == nil {
		t.Error("a connection that no call has asked for")
	}
}

func TestReplicationIsTheBrokers(t *testing.T) {
	t.Parallel()
	c := dial(t, startBroker(t, kfake.NumBrokers(3)))
	for name, want := range map[string]int{"one": 1, "two": 2, "three": 3} {
		if err := c.CreateTopics(t.Context(), TopicSpec{Name: name, Partitions: 2, Replication: want}); err != nil {
			t.Fatal(err)
		}
		if got, brokers, err := c.Replication(t.Context(), name); got != want || brokers != 3 || err != nil {
			t.Errorf("%s: %d replicas, %d brokers, %v", name, got, brokers, err)
		}
	}
	if _, _, err := c.Replication(t.Context(), "nowhere"); !errors.Is(err, ErrUnknownTopic) {
		t.Error(err)
	}
}

// Brokers that answer when they are asked are not gone, however long no call asked them anything.
// Gone says so within the ten seconds in which a drain without a broker is to end.
func TestGoneIsSaidInTime(t *testing.T) {
	t.Parallel()
	if most := goneAfter + goneAfter/20 + goneAsks; most > 8*time.Second {
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

func TestAppendedSaysWhenATopicWasWrittenLast(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	p := newProducer(t, c, 0, "")
	if at := c.Appended("t"); !at.IsZero() {
		t.Errorf("before the first batch: %v", at)
	}
	before := time.Now()
	mustAppend(t, p, "a")
	if at := c.Appended("t"); at.Before(before) || !c.Appended("u").IsZero() {
		t.Errorf("written after %v, and so it says %v", before, at)
	}
}
