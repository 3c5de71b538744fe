package pipeline

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// BenchmarkTurn is the time of one tiny turn round the whole loop, on the embedded broker.
func BenchmarkTurn(b *testing.B) {
	for _, shards := range []int{1, 16} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) { benchmarkTurn(b, shards) })
	}
}

func benchmarkTurn(b *testing.B, shards int) {
	broker := must.Have(embedded.Start(embedded.Options{}))
	defer broker.Close()
	cfg := deploytest.Config(broker.Addr())
	cfg.Shards = shards
	cfg.Metrics[0].Window = time.Second
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := deploy(b, cfg, start, 1)
	var msgs []kafkalog.Message
	for i := range b.N * 5 {
		msgs = append(msgs, eventOf(fmt.Sprint("u", i%500), start.Add(time.Duration(i)*200*time.Millisecond)))
	}
	appendEvents(b, broker.Addr(), msgs...)
	b.ReportAllocs()
	b.ResetTimer()
	ran(b, d)
}

// deploy compiles a configuration, makes its topics and initialises it.
func deploy(tb testing.TB, cfg deployment.Config, start time.Time, partitions int) *deployment.Deployment {
	tb.Helper()
	ctx := context.Background()
	d := mustCompile(tb, cfg)
	must.Succeed(tb, CreateTopics(ctx, d, TopicOptions{EventPartitions: partitions}))
	must.Succeed(tb, Init(ctx, d, InitOptions{Start: start, Incarnation: [16]byte{1}}))
	return d
}
