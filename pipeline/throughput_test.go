package pipeline

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/stats"

	"github.com/tollgate-dp/tollgate/internal/embedded"
	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// The users of the throughput benchmarks: an event's user, key and time follow
// from its number.
const (
	benchEvents  = 1_000_000
	benchUsers   = 100_000
	benchKeys    = 20
	benchWindows = 6
)

var benchStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func benchEvent(i int) (user, key string, millis int64) {
	return fmt.Sprint("user", i*7919%benchUsers), fmt.Sprint("key", i%benchKeys), benchStart.UnixMilli() + int64(i)*benchWindows*3_600_000/benchEvents
}

func benchJSON(i int) []byte {
	user, key, millis := benchEvent(i)
	return fmt.Appendf(nil, `{"user":%q,"key":%q,"time":%d}`, user, key, millis)
}

// benchSchema has seven fields, of which three are read.
const benchSchema = `{"type":"record","name":"visit","fields":[
  {"name":"id","type":"long"},{"name":"user","type":"string"},{"name":"agent","type":["null","string"]},
  {"name":"time","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"price","type":"double"},
  {"name":"key","type":"string"},{"name":"paid","type":"boolean"}]}`

func benchAvro(i int) []byte {
	user, key, millis := benchEvent(i)
	text := func(b []byte, s string) []byte { return append(binary.AppendVarint(b, int64(len(s))), s...) }
	b := text(binary.AppendVarint(nil, int64(i)), user)
	b = text(append(b, 2), "Mozilla/5.0 (X11; Linux)")
	b = binary.AppendVarint(b, millis)
	b = append(b, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f)
	return append(text(b, key), 1)
}

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
	broker, err := embedded.Start(embedded.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return broker.Addr(), func() { broker.Close() }
}

var benchRuns atomic.Int64

// benchConfig names its topics anew every time: a real broker keeps them.
func benchConfig(addr string) deployment.Config {
	cfg := deploytest.Config(addr)
	cfg.Deployment = fmt.Sprintf("bench-%d-%d", time.Now().UnixNano(), benchRuns.Add(1))
	cfg.Events.Topic = cfg.Deployment + "-events"
	cfg.Shards = 16
	cfg.Metrics[0].Window = time.Hour
	cfg.Metrics[0].Keys.List = nil
	for k := range benchKeys {
		cfg.Metrics[0].Keys.List = append(cfg.Metrics[0].Keys.List, fmt.Sprint("key", k))
	}
	return cfg
}

// load writes the first n events to the deployment's topic.
func load(b *testing.B, d *deployment.Deployment, partitions, n int, event func(i int) []byte, millis func(i int) int64) {
	ctx := context.Background()
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	for p := range partitions {
		producer, err := client.NewProducer(ctx, d.Config.Events.Topic, int32(p), "")
		if err != nil {
			b.Fatal(err)
		}
		var msgs []kafkalog.Message
		for i := p; i < n; i += partitions {
			msgs = append(msgs, kafkalog.Message{Value: event(i), Timestamp: kafkalog.At(millis(i))})
		}
		if _, err := producer.Append(ctx, msgs); err != nil {
			b.Fatal(err)
		}
		producer.Close()
	}
}

func benchMillis(i int) int64 {
	_, _, millis := benchEvent(i)
	return millis
}

// BenchmarkThroughput is the whole loop on one million events of 100,000 users,
// 20 keys and 6 windows, with the greatest heap on the way (the embedded broker's
// log is in it); and, for comparison, Beam's own count of the same records from
// memory on the same runner, without any promise of privacy.
func BenchmarkThroughput(b *testing.B) {
	for _, c := range []struct {
		name   string
		format event.Format
		event  func(i int) []byte
	}{
		{"json", deploytest.Config("").Events.Format, benchJSON},
		{"avro", event.Format{Format: "avro", Schema: benchSchema, User: "user", Key: "key", Time: "time"}, benchAvro},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkThroughput(b, c.format, c.event) })
		b.Run(c.name+"-beam", func(b *testing.B) { benchmarkBeamCount(b, c.format, c.event) })
	}
}

func benchmarkThroughput(b *testing.B, format event.Format, event func(i int) []byte) {
	var heap uint64
	b.StopTimer()
	for range b.N {
		addr, done := benchBroker(b)
		cfg := benchConfig(addr)
		cfg.Events.Format = format
		d := deploy(b, cfg, benchStart, 4)
		load(b, d, 4, benchEvents, event, benchMillis)
		runtime.GC()
		watch := watchHeap()
		b.StartTimer()
		if _, err := Run(context.Background(), d, RunOptions{Bounded: true}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		heap = max(heap, watch())
		done()
	}
	b.ReportMetric(benchEvents*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(heap)/(1<<20), "heap-MB")
}

// watchHeap returns a function that stops it and tells the greatest heap seen.
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

// beamEvents are the records that the plain Beam pipeline reads, in beamFormat.
var (
	beamEvents [][]byte
	beamFormat event.Format
)

// beamSource decodes the records as READ does.
type beamSource struct{}

// ProcessElement emits every event's key at the event's time.
func (beamSource) ProcessElement(_ []byte, emit func(beam.EventTime, string)) error {
	decoder, err := event.NewDecoder(beamFormat)
	if err != nil {
		return err
	}
	var e event.Event
	for _, record := range beamEvents {
		if err := decoder.Decode(record, &e); err != nil {
			return err
		}
		emit(beam.EventTime(e.Millis), string(e.Key))
	}
	return nil
}

func init() {
	beam.RegisterDoFn(&beamSource{})
	register.Emitter2[beam.EventTime, string]()
}

func benchmarkBeamCount(b *testing.B, format event.Format, event func(i int) []byte) {
	initBeam()
	beamEvents, beamFormat = nil, format
	for i := range benchEvents {
		beamEvents = append(beamEvents, event(i))
	}
	defer func() { beamEvents = nil }()
	b.ResetTimer()
	for range b.N {
		p, s := beam.NewPipelineWithRoot()
		keys := beam.ParDo(s, &beamSource{}, beam.Impulse(s))
		stats.Count(s, beam.WindowInto(s, window.NewFixedWindows(time.Hour), keys))
		if _, err := prism.Execute(context.Background(), p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(benchEvents*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkManyKeys is one turn with as many keys as the name says, each with
// one contribution: the cost of a key must not grow with their number.
func BenchmarkManyKeys(b *testing.B) {
	for _, keys := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			b.StopTimer()
			for range b.N {
				addr, done := benchBroker(b)
				cfg := benchConfig(addr)
				cfg.Metrics[0].Keys = deployment.Keys{Mode: deployment.KeysPrivate}
				cfg.Metrics[0].LastAtLeast = 1
				d := deploy(b, cfg, benchStart, 4)
				load(b, d, 4, keys, func(i int) []byte {
					return fmt.Appendf(nil, `{"user":"user%d","key":"key%d","time":%d}`, i, i, benchStart.UnixMilli())
				}, func(int) int64 { return benchStart.UnixMilli() })
				b.StartTimer()
				if _, err := Run(context.Background(), d, RunOptions{Bounded: true}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				done()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*keys), "ns/key")
		})
	}
}

// BenchmarkDayBesideMinutes is a day of minutes with one million events: alone,
// alone with as many ledger slots as a day's window brings with it by default, and
// with a window over the whole day beside them.
func BenchmarkDayBesideMinutes(b *testing.B) {
	const minutes = 1440
	for _, c := range []struct {
		name  string
		day   bool
		slots int
	}{{"minutes", false, 0}, {"minutes,slots=360", false, 360}, {"minutes+day", true, 0}} {
		b.Run(c.name, func(b *testing.B) {
			b.StopTimer()
			var longest, last time.Duration
			var all []time.Duration
			for range b.N {
				addr, done := benchBroker(b)
				cfg := benchConfig(addr)
				cfg.Metrics[0].Window = time.Minute
				cfg.LedgerSlots = c.slots
				if c.day {
					m := cfg.Metrics[0]
					m.Name, m.Window = "day", 24*time.Hour
					cfg.Metrics = append(cfg.Metrics, m)
				}
				d := deploy(b, cfg, benchStart, 4)
				millis := func(i int) int64 { return benchStart.UnixMilli() + int64(i)*minutes*60_000/benchEvents }
				load(b, d, 4, benchEvents, func(i int) []byte {
					user, key, _ := benchEvent(i)
					return fmt.Appendf(nil, `{"user":%q,"key":%q,"time":%d}`, user, key, millis(i))
				}, millis)
				before := time.Now()
				settled := func(s Settlement) {
					took := time.Since(before)
					before = time.Now()
					if last = took; s.Turn > 1 && s.Turn < minutes {
						longest = max(longest, took)
						all = append(all, took)
					}
				}
				b.StartTimer()
				if _, err := Run(context.Background(), d, RunOptions{Bounded: true, OnSettled: settled}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				done()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N*minutes), "ms/turn")
			quarter := len(all) / 4
			for i, part := range [][]time.Duration{all[:quarter], all[len(all)-quarter:]} {
				part = slices.Sorted(slices.Values(part))
				b.ReportMetric(float64(part[quarter/2].Microseconds())/1000, []string{"morning-median-ms", "evening-median-ms"}[i])
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "median-ms")
			b.ReportMetric(float64(all[len(all)*9/10].Microseconds())/1000, "p90-ms")
			b.ReportMetric(float64(longest.Milliseconds()), "longest-ms")
			b.ReportMetric(float64(last.Milliseconds()), "last-ms")
		})
	}
}

// BenchmarkManyTurns runs a backlog of as many tiny turns as b.N says, one by one
// and in spans, and reports the heap in use after the first half and at the end:
// run it with -benchtime 20000x.
func BenchmarkManyTurns(b *testing.B) {
	for _, catchUp := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("catch_up=%d", catchUp), func(b *testing.B) { benchmarkManyTurns(b, catchUp) })
	}
}

func benchmarkManyTurns(b *testing.B, catchUp int) {
	b.StopTimer()
	addr, done := benchBroker(b)
	defer done()
	cfg := benchConfig(addr)
	cfg.Shards = 1
	cfg.CatchUp = catchUp
	cfg.Metrics[0].Window = time.Second
	d := deploy(b, cfg, benchStart, 1)
	millis := func(i int) int64 { return benchStart.UnixMilli() + int64(i)*1000 }
	load(b, d, 1, b.N, func(i int) []byte {
		return fmt.Appendf(nil, `{"user":"user%d","key":"key%d","time":%d}`, i%500, i%benchKeys, millis(i))
	}, millis)
	inUse := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	quarters := map[uint64]string{uint64(b.N) / 4: "heap-MB-1st-quarter", uint64(b.N) / 2: "heap-MB-half", uint64(b.N) - 1: "heap-MB-end"}
	b.StartTimer()
	_, err := Run(context.Background(), d, RunOptions{Bounded: true, OnSettled: func(s Settlement) {
		for turn := s.First; turn <= s.Turn; turn++ {
			if name := quarters[turn]; name != "" {
				b.ReportMetric(inUse(), name)
			}
		}
	}})
	if err != nil {
		b.Fatal(err)
	}
}
