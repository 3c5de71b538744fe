package watch

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// lines are the lines of a log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A broker that is frozen, with its connections open, is told within seconds, since the request
// that it did not answer, and when it answers again.
func TestAFrozenBrokerIsToldSinceItStoppedAnswering(t *testing.T) {
	t.Parallel()
	long.Test(t)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	client, err := kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: cluster.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var said lines
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	f := client.NewFetcher()
	calls.Go(func() {
		defer f.Close()
		for ctx.Err() == nil {
			_, _ = f.Poll(ctx, []kafkalog.Fetch{{Topic: "t"}}, 1, 100*time.Millisecond)
		}
	})
	calls.Go(func() { Brokers(ctx, client, slog.New(slog.NewTextHandler(&said, nil))) })
	thaw := make(chan struct{})
	melt := sync.OnceFunc(func() { close(thaw) })
	defer melt()
	frozen := make(chan time.Time, 1)
	cluster.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		frozen <- time.Now()
		<-thaw
		return nil, nil, false
	})
	at := <-frozen
	since := regexp.MustCompile(`broker \S+ unreachable since (\S+): it has not answered a request`)
	await.That(t, 25*time.Second, "the frozen broker is told", func() bool { return since.MatchString(said.String()) })
	told, err := time.Parse(time.RFC3339, since.FindStringSubmatch(said.String())[1])
	if err != nil || told.After(at) || told.Before(at.Add(-5*time.Second)) {
		t.Errorf("frozen at %v, and told since %v (%v)", at, told, err)
	}
	melt()
	await.That(t, 25*time.Second, "its return is told", func() bool { return regexp.MustCompile(`broker \S+ answers again`).MatchString(said.String()) })
}
