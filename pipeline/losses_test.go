package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
)

// appendEvents appends records to partition 0 of the events topic.
func appendEvents(t *testing.T, addr string, msgs ...kafkalog.Message) {
	t.Helper()
	client, err := connect.Dial(t.Context(), deployment.Kafka{Brokers: []string{addr}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	p, err := client.NewProducer(t.Context(), "events", 0, "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Append(t.Context(), msgs); err != nil {
		t.Fatal(err)
	}
}

// A run says while it goes on that records are late or dead-lettered, with where to look, and no
// word of it has an id, a key or a number of records.
func TestRuleARunSaysCoarselyWhatIsWrong(t *testing.T) {
	t.Parallel()
	broker := deploytest.Start(t)
	start := time.Now().Add(-time.Hour).Truncate(time.Minute)
	cfg := deploytest.Config(broker.Addr())
	cfg.Time.Lateness = 30 * time.Second
	d := deploy(t, cfg, start, 1)
	out := &lockedBuffer{}
	var state atomic.Pointer[RunState]
	drain, over := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := Run(context.Background(), d, RunOptions{
			Drain: drain, Logger: slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelWarn})),
			OnState: func(s RunState) { state.Store(&s) },
		})
		over <- err
	}()
	now := time.Now()
	record := func(i int, at time.Time) kafkalog.Message {
		return kafkalog.Message{Value: fmt.Appendf(nil, `{"user":"person-%d","key":"a","time":%d}`, i, at.UnixMilli()), Timestamp: kafkalog.At(now.UnixMilli())}
	}
	var msgs []kafkalog.Message
	for i := range 733 {
		msgs = append(msgs, record(i, now.Add(-10*time.Minute)))
	}
	for i := range 211 {
		msgs = append(msgs, record(i, now), kafkalog.Message{Value: fmt.Appendf(nil, `{"user":"person-%d","time":%d}`, i, now.UnixMilli()), Timestamp: kafkalog.At(now.UnixMilli())})
	}
	appendEvents(t, broker.Addr(), msgs...)
	for _, want := range []string{
		"more than half of the records read in the last minute are late, most of these by more than a minute: their times are behind the times of their records, or an earlier record in their partition has a later time. Possible causes: events come later than time.lateness (30s) allows",
		"some records are dead-lettered: missing_field (topic " + d.Config.Outputs.DeadLetter + " has them, with the reason in the header tollgate-class)",
	} {
		await.That(t, time.Minute, fmt.Sprintf("the run says %q", want), func() bool { return strings.Contains(out.String(), want) })
	}
	await.That(t, time.Minute, "metrics say the same", func() bool {
		s := state.Load()
		return s != nil && s.Losses["late"] == 2 && s.Losses["dead_lettered"] == 1 && s.Losses["overtaken"] == 0 && s.Totals.Lost["late"] == 733 && s.Totals.Lost["dead_lettered"] == 211
	})
	close(drain)
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		text := regexp.MustCompile(`time=\S+|\(30s\)`).ReplaceAllString(line, "")
		if strings.Contains(text, "person") || strings.Contains(text, "records") && strings.ContainsAny(text, "0123456789") {
			t.Errorf("a user or a number is in what the run says: %s", line)
		}
	}
}
