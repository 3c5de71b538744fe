package pipeline

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
)

func TestRunReleasesEveryWindow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	broker, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := deploy(t, deploytest.Config(broker.Addr()), start, 2)
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for p := range 2 {
		producer, err := client.NewProducer(ctx, "events", int32(p), "")
		if err != nil {
			t.Fatal(err)
		}
		var msgs []kafkalog.Message
		for i := range 2000 {
			at := start.Add(time.Duration(i) * 300 * time.Millisecond).UnixMilli()
			value := fmt.Sprintf(`{"user":"u%d","key":"%c","time":%d}`, (i*7+p)%500, 'a'+rune(i%4), at)
			msgs = append(msgs, kafkalog.Message{Value: []byte(value), Timestamp: kafkalog.At(at)})
		}
		if _, err := producer.Append(ctx, msgs); err != nil {
			t.Fatal(err)
		}
		producer.Close()
	}
	began := time.Now()
	result, err := Run(ctx, d, RunOptions{Bounded: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v in %v", result, time.Since(began))
	if result.Settled != 10 {
		t.Errorf("settled %d turns, want 10", result.Settled)
	}
	releases, err := ReadReleases(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	if len(releases) != 30 {
		t.Errorf("%d releases, want 30", len(releases))
	}
	tallies, err := TrustedReport(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	if tallies.Read != 4000 {
		t.Errorf("%+v", tallies)
	}
	t.Logf("%+v", tallies)
}
