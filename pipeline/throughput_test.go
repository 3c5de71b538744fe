package pipeline

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
	"github.com/tollgate-dp/tollgate/internal/testing/workload"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// standard is what the throughput benchmarks read.
var standard = workload.Standard()

// benchBroker is the embedded broker or, with TOLLGATE_BROKER=kafka, Apache
// Kafka as a process of this machine.
func benchBroker(b *testing.B) (addr string, done func()) {
	if os.Getenv("TOLLGATE_BROKER") == "kafka" {
		broker, err := realkafka.Start(context.Background(), realkafka.Options{Settings: map[string]string{
			"log.retention.ms": "-1", "log.message.timestamp.after.max.ms": "9223372036854775807",
		}})
		if err != nil {
			b.Fatal(err)
		}
		return broker.Addr(), func() { broker.Close() }
	}
	broker := must.Have(embedded.Start(embedded.Options{}))
	return broker.Addr(), func() { broker.Close() }
}

var benchRuns atomic.Int64

// benchConfig names its topics anew every time: a real broker keeps them.
func benchConfig(addr string) deployment.Config {
	cfg := deploytest.Config(addr)
	cfg.Deployment = fmt.Sprintf("bench-%d-%d", time.Now().UnixNano(), benchRuns.Add(1))
	cfg.Events.Topic = cfg.Deployment + "-events"
	cfg.Shards = 16
	cfg.Metrics[0].Window = workload.Window
	cfg.Metrics[0].Keys.List = standard.KeyNames()
	return cfg
}

// load writes the first n events to the deployment's topic.
func load(b *testing.B, d *deployment.Deployment, partitions, n int, event func(i int) []byte,
	millis func(i int) int64) {
	client := dial(b, d)
	for p := range partitions {
		var msgs []kafkalog.Message
		for i := p; i < n; i += partitions {
			msgs = append(msgs, kafkalog.Message{Value: event(i), Timestamp: kafkalog.At(millis(i))})
		}
		appendTo(b, client, d.Config.Events.Topic, int32(p), msgs...)
	}
}

// BenchmarkThroughput is the whole loop on the standard workload, with the greatest
// heap on the way (the embedded broker's log is in it).
func BenchmarkThroughput(b *testing.B) {
	values := workload.Avro()
	values.Value = "id"
	for _, c := range []struct {
		name   string
		format event.Format
		kind   string
		encode func(dst []byte, i int, millis int64) []byte
	}{
		{"json", workload.JSON(), metrickind.Events, standard.AppendJSON},
		{"avro", workload.Avro(), metrickind.Events, standard.AppendAvro},
		{"mean", values, metrickind.Mean, standard.AppendAvro},
		{"quantiles", values, metrickind.Quantiles, standard.AppendAvro},
	} {
		b.Run(c.name, func(b *testing.B) {
			benchmarkThroughput(b, c.format, c.kind, func(i int) []byte { return c.encode(nil, i, standard.Millis(i)) })
		})
	}
}

func benchmarkThroughput(b *testing.B, format event.Format, kind string, event func(i int) []byte) {
	var heap uint64
	var cpu time.Duration
	b.StopTimer()
	for range b.N {
		addr, done := benchBroker(b)
		cfg := benchConfig(addr)
		cfg.Events.Format = format
		if cfg.Metrics[0].Kind = kind; kind != metrickind.Events {
			cfg.Metrics[0].Max = int64(standard.Events)
			cfg.Metrics[0].Target = noisereduction.Target{Confidence: 0.95}
			cfg.Metrics[0].Noise = 100
		}
		d := deploy(b, cfg, workload.Start(), 4)
		load(b, d, 4, standard.Events, event, standard.Millis)
		runtime.GC()
		watch, before := watchHeap(), cpuTime(b)
		b.StartTimer()
		_, err := Run(context.Background(), d, RunOptions{Bounded: true})
		must.Succeed(b, err)
		b.StopTimer()
		cpu += cpuTime(b) - before
		heap = max(heap, watch())
		done()
	}
	b.ReportMetric(float64(cpu.Microseconds())/float64(standard.Events)/float64(b.N), "CPU-µs/event")
	b.ReportMetric(float64(standard.Events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(heap)/(1<<20), "heap-MB")
}

// cpuTime returns the CPU time of this process: on a busy machine, elapsed time means little.
func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	must.Succeed(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// watchHeap returns a function that ends the watch and returns the greatest heap seen.
func watchHeap() func() uint64 {
	stop, most := make(chan struct{}), uint64(0)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return func() uint64 { close(stop); wg.Wait(); return most }
}
