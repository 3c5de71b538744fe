package pipeline

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/embedded"
	"github.com/tollgate-dp/tollgate/internal/klog"
)

// BenchmarkTurn is the time of one tiny turn round the whole loop, on the
// embedded broker.
func BenchmarkTurn(b *testing.B) {
	for _, shards := range []int{1, 16} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) { benchmarkTurn(b, shards) })
	}
}

func benchmarkTurn(b *testing.B, shards int) {
	ctx := context.Background()
	broker, err := embedded.Start(embedded.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer broker.Close()
	cfg := testConfig(broker.Addr())
	cfg.Shards = shards
	cfg.Metrics[0].Window = time.Second
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := deploy(b, cfg, start, 1)
	client, err := d.dial(ctx, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	producer, err := client.NewProducer(ctx, "events", 0, "")
	if err != nil {
		b.Fatal(err)
	}
	var msgs []klog.Message
	for i := range b.N * 5 {
		at := start.Add(time.Duration(i) * 200 * time.Millisecond).UnixMilli()
		value := fmt.Sprintf(`{"user":"u%d","key":"a","time":%d}`, i%500, at)
		msgs = append(msgs, klog.Message{Value: []byte(value), Timestamp: at})
	}
	if _, err := producer.Append(ctx, msgs); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := Run(ctx, d, RunOptions{Bounded: true}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkThroughput is the whole loop on one million JSON events of 100,000
// users, 20 keys and 6 windows, from the embedded broker.
func BenchmarkThroughput(b *testing.B) {
	const events, windows = 1_000_000, 6
	ctx := context.Background()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range b.N {
		b.StopTimer()
		broker, err := embedded.Start(embedded.Options{})
		if err != nil {
			b.Fatal(err)
		}
		cfg := testConfig(broker.Addr())
		cfg.Shards = 16
		cfg.Metrics[0].Window = time.Hour
		cfg.Metrics[0].Keys.List = nil
		for k := range 20 {
			cfg.Metrics[0].Keys.List = append(cfg.Metrics[0].Keys.List, fmt.Sprint("key", k))
		}
		d := deploy(b, cfg, start, 4)
		client, err := d.dial(ctx, nil)
		if err != nil {
			b.Fatal(err)
		}
		for p := range 4 {
			producer, err := client.NewProducer(ctx, "events", int32(p), "")
			if err != nil {
				b.Fatal(err)
			}
			var msgs []klog.Message
			for i := p; i < events; i += 4 {
				at := start.UnixMilli() + int64(i)*windows*3_600_000/events
				value := fmt.Sprintf(`{"user":"user%d","key":"key%d","time":%d}`, (i*7919)%100_000, i%20, at)
				msgs = append(msgs, klog.Message{Value: []byte(value), Timestamp: at})
			}
			if _, err := producer.Append(ctx, msgs); err != nil {
				b.Fatal(err)
			}
			producer.Close()
		}
		client.Close()
		b.StartTimer()
		if _, err := Run(ctx, d, RunOptions{Bounded: true}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		broker.Close()
	}
	b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// deploy compiles a configuration, makes its topics and initialises it.
func deploy(tb testing.TB, cfg Config, start time.Time, partitions int) *Deployment {
	tb.Helper()
	ctx := context.Background()
	d, err := Compile(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	if err := CreateTopics(ctx, d, TopicOptions{EventPartitions: partitions}); err != nil {
		tb.Fatal(err)
	}
	if err := Init(ctx, d, InitOptions{Start: start}); err != nil {
		tb.Fatal(err)
	}
	return d
}
