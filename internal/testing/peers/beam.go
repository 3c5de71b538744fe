package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	//lint:ignore SA1019 Privacy on Beam is at its fastest on it
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/stats"
	"github.com/google/differential-privacy/go/v3/noise"
	"github.com/google/differential-privacy/privacy-on-beam/v3/pbeam"

	"github.com/tollgate-dp/tollgate/internal/testing/workload"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Inputs and outputs of the DoFns. Beam serialises the DoFns, but they run in this process.
var (
	records   [][]byte
	collected struct {
		sync.Mutex
		counts []count
	}
)

func init() {
	register.DoFn2x1[[]byte, func(beam.EventTime, string), error](&keysFn{})
	register.DoFn2x1[[]byte, func(string, string), error](&usersFn{})
	register.DoFn3x0[beam.Window, string, int](&windowedFn{})
	register.DoFn2x0[string, int64](&privateFn{})
	register.Emitter2[beam.EventTime, string]()
	register.Emitter2[string, string]()
}

// eachRecord decodes the records in the same way as Tollgate.
func eachRecord(fn func(e *event.Event)) error {
	decoder, err := event.NewDecoder(workload.Avro())
	if err != nil {
		return err
	}
	var e event.Event
	for _, record := range records {
		if err := decoder.Decode(record, &e); err != nil {
			return err
		}
		fn(&e)
	}
	return nil
}

// keysFn emits the key of every event, at the event's time.
type keysFn struct{}

// ProcessElement implements Beam's DoFn.
func (*keysFn) ProcessElement(_ []byte, emit func(beam.EventTime, string)) error {
	return eachRecord(func(e *event.Event) { emit(beam.EventTime(e.Millis), string(e.Key)) })
}

// usersFn emits the user and the key of every event.
type usersFn struct{}

// ProcessElement implements Beam's DoFn.
func (*usersFn) ProcessElement(_ []byte, emit func(string, string)) error {
	return eachRecord(func(e *event.Event) { emit(string(e.User), string(e.Key)) })
}

func collect(c count) {
	collected.Lock()
	defer collected.Unlock()
	collected.counts = append(collected.counts, c)
}

// windowedFn collects counts by window.
type windowedFn struct{}

// ProcessElement implements Beam's DoFn.
func (*windowedFn) ProcessElement(w beam.Window, key string, n int) {
	begin := w.(window.IntervalWindow).Start.Milliseconds()
	collect(count{window: workload.WindowOf(begin), key: key, value: float64(n)})
}

// privateFn collects private counts of one window over all events.
type privateFn struct{ Deviation float64 }

// ProcessElement implements Beam's DoFn.
func (f *privateFn) ProcessElement(key string, n int64) {
	collect(count{key: key, value: float64(n), deviation: f.Deviation})
}

// buildCount builds a pipeline with Beam's own count by window and key.
func buildCount(s beam.Scope, _ task) error {
	keys := beam.ParDo(s, &keysFn{}, beam.Impulse(s))
	windows := beam.WindowInto(s, window.NewFixedWindows(workload.Window), keys)
	beam.ParDo0(s, &windowedFn{}, stats.Count(s, windows))
	return nil
}

// buildPrivate builds a pipeline with Privacy on Beam's count by key.
func buildPrivate(s beam.Scope, t task) error {
	spec, err := pbeam.NewPrivacySpec(pbeam.PrivacySpecParams{AggregationEpsilon: epsilon, AggregationDelta: delta})
	if err != nil {
		return fmt.Errorf("making a privacy specification: %w", err)
	}
	users := beam.ParDo(s, &usersFn{}, beam.Impulse(s))
	counts := pbeam.Count(s, pbeam.MakePrivate(s, users, spec), pbeam.CountParams{
		NoiseKind:                pbeam.GaussianNoise{},
		MaxPartitionsContributed: maxKeysPerUser, MaxValue: maxEventsPerKey,
		PublicPartitions:     t.Load.KeyNames(),
		AllowNegativeOutputs: true,
	})
	beam.ParDo0(s, &privateFn{noise.SigmaForGaussian(maxKeysPerUser, maxEventsPerKey, epsilon, delta)}, counts)
	return nil
}

func runDirect(ctx context.Context, p *beam.Pipeline) error {
	_, err := direct.Execute(ctx, p)
	return err
}

func runPrism(ctx context.Context, p *beam.Pipeline) error {
	_, err := prism.Execute(ctx, p)
	return err
}

// onBeam returns a function that prepares a pipeline, with all records in memory.
func onBeam(build func(beam.Scope, task) error, runner func(context.Context,
	*beam.Pipeline) error) func(context.Context, task) (entrant, error) {
	return func(_ context.Context, t task) (entrant, error) {
		beam.Init()
		silence()
		records = make([][]byte, t.Load.Events)
		for i := range records {
			records[i] = t.Load.AppendAvro(nil, i, t.Load.Millis(i))
		}
		p, s := beam.NewPipelineWithRoot()
		return &beamEntrant{p, runner}, build(s, t)
	}
}

// silence stops Beam from logging and Privacy on Beam from writing log files.
func silence() {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	beamlog.SetLogger(&beamlog.Standard{Level: beamlog.SevFatal})
	_ = flag.Set("logtostderr", "true") // a flag of glog
}

type beamEntrant struct {
	pipeline *beam.Pipeline
	runner   func(context.Context, *beam.Pipeline) error
}

func (e *beamEntrant) run(ctx context.Context) error           { return e.runner(ctx, e.pipeline) }
func (e *beamEntrant) counts(context.Context) ([]count, error) { return collected.counts, nil }
func (e *beamEntrant) close()                                  {}
