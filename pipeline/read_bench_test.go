package pipeline

import (
	"context"
	"runtime"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/workload"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/transforms"
)

// BenchmarkRead is READ alone, on the embedded broker: the benchmark settles every turn
// at once. Its figures hold the broker's share of the process as well.
func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		name          string
		format        event.Format
		event         func(l workload.Load, dst []byte, i int, millis int64) []byte
		users, events int
	}{
		{"avro/users=1e5", workload.Avro(), workload.Load.AppendAvro, 100_000, 1_000_000},
		{"avro/users=1e6", workload.Avro(), workload.Load.AppendAvro, 1_000_000, 3_000_000},
		{"json/users=1e5", workload.JSON(), workload.Load.AppendJSON, 100_000, 1_000_000},
		{"json/users=1e6", workload.JSON(), workload.Load.AppendJSON, 1_000_000, 3_000_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			cfg := func(addr string) deployment.Config {
				cfg := benchConfig(addr)
				cfg.Events.Format = c.format
				return cfg
			}
			events := standard
			events.Users, events.Events = c.users, c.events
			value := func(i int) []byte { return c.event(events, nil, i, events.Millis(i)) }
			benchmarkRead(b, cfg, c.events, value, events.Millis)
		})
	}
}

func benchmarkRead(b *testing.B, config func(addr string) deployment.Config, events int, value func(i int) []byte,
	millis func(i int) int64) {
	ctx := context.Background()
	b.StopTimer()
	var allocated uint64
	for range b.N {
		addr, done := benchBroker(b)
		d := deploy(b, config(addr), workload.Start(), 4)
		load(b, d, 4, events, value, millis)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		b.StartTimer()
		if got := readAll(ctx, b, d); got != uint64(events) {
			b.Fatalf("READ has opened turns of %d events, want %d", got, events)
		}
		b.StopTimer()
		runtime.ReadMemStats(&after)
		allocated += after.TotalAlloc - before.TotalAlloc
		done()
	}
	b.ReportMetric(float64(allocated)/float64(b.N*events), "B/event")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}

// readAll runs READ to the end of its input and settles every turn that it opens. It
// returns how many contributions the elements of these turns hold.
func readAll(ctx context.Context, b *testing.B, d *deployment.Deployment) (records uint64) {
	ends := must.Have(reading.Ends(ctx, dial(b, d), d.Config.Events.Topic))
	control, source := readerOf(b, d, reading.Options{Bounded: true, Ends: ends})
	writer := must.Have(controllog.NewWriter(ctx, control))
	defer writer.Close()
	position := transforms.Restriction{Epoch: -1, Tick: 1}
	for !position.Done {
		step := must.Have(source.Step(ctx, position))
		position = step.Next
		if !step.Opened {
			continue
		}
		open := must.Have(schemas.DecodeOpen(step.Elements[len(step.Elements)-1].Data))
		records += open.Contributions
		parts := must.Have(schemas.SplitSettled(schemas.Settled{Epoch: open.Epoch, Turn: open.Turn,
			CountsEnd: make([]int64, d.Config.ReleaseShards)}, 1<<20))
		must.Have(writer.Append(ctx, &parts[0]))
	}
	return records
}
