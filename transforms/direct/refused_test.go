package direct_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window/trigger"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/timers"

	"github.com/tollgate-dp/tollgate/transforms/direct"
)

func init() {
	beam.RegisterType(reflect.TypeFor[setUpFn]())
	for _, fn := range []any{&timerFn{}, &stateFn{}, &observingFn{}, &splitFn{}} {
		beam.RegisterDoFn(fn)
	}
	for _, fn := range []any{sideFn, letters, sideKeys, summed, twoOutputs, pairKey, namedKey, addInts, windowFn, paneFn, reiterated, joined, floatKey} {
		beam.RegisterFunction(fn)
	}
	beam.RegisterType(reflect.TypeFor[custom]())
	beam.RegisterCoder(reflect.TypeFor[custom](), func(c custom) []byte { return []byte(c) }, func(b []byte) custom { return custom(b) })
}

func summed(key string, next func(*int) bool) (string, int) {
	sum := 0
	for v := 0; next(&v); {
		sum += v
	}
	return key, sum
}

// setUpFn adds, and wants to be set up.
type setUpFn struct{}

func (*setUpFn) Setup()                         {}
func (*setUpFn) MergeAccumulators(a, b int) int { return a + b }

// custom has a coder of its own, which may say that values are the same.
type custom string

type pairOf struct{ A, B int }

func sideFn(key string, _ int, _ int, emit func(string, int))               { emit(key, 1) }
func twoOutputs(key string, n int, one func(string, int), two func(string)) { one(key, n); two(key) }
func letters(key string) int                                                { return len(key) }
func sideKeys(_ []byte) (string, int)                                       { return "a", 1 }
func pairKey(_ string, n int) (pairOf, int)                                 { return pairOf{n, n}, n }
func namedKey(s string, n int) (custom, int)                                { return custom(s), n }
func floatKey(_ string, n int) (float64, int)                               { return float64(n), n }
func addInts(a, b int) int                                                  { return a + b }
func windowFn(_ beam.Window, key string, n int) (string, int)               { return key, n }
func paneFn(_ beam.PaneInfo, key string, n int) (string, int)               { return key, n }
func reiterated(key string, _ func() func(*int) bool) string                { return key }
func joined(key string, _, _ func(*int) bool) string                        { return key }

type timerFn struct{ At timers.EventTime }

func (f *timerFn) ProcessElement(_ timers.Provider, key string, n int, emit func(string, int)) {}
func (f *timerFn) OnTimer(context.Context, beam.EventTime, timers.Provider, string, timers.Context, func(string, int)) {
}

// stateFn keeps a total of each key.
type stateFn struct{ Total state.Value[int] }

func (f *stateFn) ProcessElement(p state.Provider, key string, n int) (string, int) {
	return key, n
}

// observingFn has a watermark that follows what it emits.
type observingFn struct{ sourceFn }

func (f *observingFn) CreateWatermarkEstimator() *sdf.TimestampObservingWatermarkEstimator {
	return &sdf.TimestampObservingWatermarkEstimator{State: time.Unix(0, 0)}
}

func (f *observingFn) ProcessElement(_ *sdf.TimestampObservingWatermarkEstimator, _ *tracker, _ []byte, _ func(beam.EventTime, string, int)) (sdf.ProcessContinuation, error) {
	return nil, nil
}

// splitFn begins with two restrictions.
type splitFn struct{ sourceFn }

func (f *splitFn) SplitRestriction(_ []byte, rest place) []place { return []place{rest, rest} }

// TestWhatIsNotKnownIsRefused before anything has run, with the name of the transform.
func TestWhatIsNotKnownIsRefused(t *testing.T) {
	type scope = beam.Scope
	grouped := func(s scope, in beam.PCollection, options ...beam.WindowIntoOption) {
		beam.GroupByKey(s, beam.WindowInto(s, window.NewFixedWindows(time.Second), in, options...))
	}
	for name, test := range map[string]struct {
		build func(s scope, in beam.PCollection)
		names string // of the transform
		err   error
	}{
		"side input": {func(s scope, in beam.PCollection) {
			beam.ParDo(s, sideFn, in, beam.SideInput{Input: beam.Create(s, 1)})
		}, "sideFn", nil},
		"two consumers": {func(s scope, in beam.PCollection) { beam.DropKey(s, in); beam.DropValue(s, in) }, "dropKeyFn", nil},
		"two impulses":  {func(s scope, _ beam.PCollection) { beam.Impulse(s) }, "Impulse", nil},
		"flatten":       {func(s scope, in beam.PCollection) { beam.Flatten(s, in, in) }, "Flatten", nil},
		"two chains with groups": {func(s scope, in beam.PCollection) {
			grouped := beam.ParDo(s, summed, beam.GroupByKey(s, in))
			beam.GroupByKey(s, beam.Flatten(s, grouped, beam.ParDo(s, summed, beam.GroupByKey(s, beam.ParDo(s, sideKeys, beam.Impulse(s))))))
		}, "Flatten", nil},
		"a combiner of everything": {func(s scope, in beam.PCollection) { beam.Combine(s, &setUpFn{}, beam.DropKey(s, in)) }, "Combine", nil},
		"reshuffle":                {func(s scope, in beam.PCollection) { beam.Reshuffle(s, in) }, "Reshuffle", nil},
		"two outputs": {func(s scope, in beam.PCollection) {
			one, two := beam.ParDo2(s, twoOutputs, in)
			beam.DropKey(s, one)
			beam.ParDo(s, letters, two)
		}, "twoOutputs", nil},
		"sliding windows": {func(s scope, in beam.PCollection) { beam.WindowInto(s, window.NewSlidingWindows(1, 2), in) }, "WindowInto", nil},
		"sessions":        {func(s scope, in beam.PCollection) { beam.WindowInto(s, window.NewSessions(1), in) }, "WindowInto", nil},
		"trigger": {func(s scope, in beam.PCollection) {
			grouped(s, in, beam.Trigger(trigger.AfterCount(2)), beam.PanesDiscard())
		}, "CoGBK", nil},
		"lateness":                           {func(s scope, in beam.PCollection) { grouped(s, in, beam.AllowedLateness(time.Second)) }, "CoGBK", nil},
		"struct keys":                        {func(s scope, in beam.PCollection) { beam.GroupByKey(s, beam.ParDo(s, pairKey, in)) }, "CoGBK", nil},
		"keys with a coder of their own":     {func(s scope, in beam.PCollection) { beam.GroupByKey(s, beam.ParDo(s, namedKey, in)) }, "CoGBK", nil},
		"keys that may not equal themselves": {func(s scope, in beam.PCollection) { beam.GroupByKey(s, beam.ParDo(s, floatKey, in)) }, "CoGBK", nil},
		"two inputs":                         {func(s scope, in beam.PCollection) { beam.ParDo(s, joined, beam.CoGroupByKey(s, in, in)) }, "CoGBK", nil},
		"an iterator that begins again":      {func(s scope, in beam.PCollection) { beam.ParDo(s, reiterated, beam.GroupByKey(s, in)) }, "reiterated", nil},
		"window":                             {func(s scope, in beam.PCollection) { beam.ParDo(s, windowFn, in) }, "windowFn", nil},
		"pane":                               {func(s scope, in beam.PCollection) { beam.ParDo(s, paneFn, in) }, "paneFn", nil},
		"timers":                             {func(s scope, in beam.PCollection) { beam.ParDo(s, &timerFn{timers.InEventTime("at")}, in) }, "timerFn", nil},
		"keyed state": {func(s scope, in beam.PCollection) {
			beam.ParDo(s, &stateFn{state.MakeValueState[int]("t")}, in)
		}, "stateFn", direct.ErrStateWouldBeLost},
		"splittable in the middle": {func(s scope, in beam.PCollection) { beam.ParDo(s, &middleFn{}, beam.DropKey(s, in)) }, "middleFn", nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuilder(t)
			ran := func(context.Context) error { t.Error("it was set up"); return nil }
			test.build(b.Scope.Scope("here"), b.source(&hooks{setup: ran}))
			want := test.err
			if want == nil {
				want = direct.ErrUnsupported
			}
			if err := b.run(t.Context()); !errors.Is(err, want) || !strings.Contains(err.Error(), test.names) {
				t.Errorf("the run ended with %v", err)
			}
		})
	}
}

func init() {
	beam.RegisterDoFn(&middleFn{})
}

// middleFn is splittable, over integers.
type middleFn struct{}

func (*middleFn) CreateInitialRestriction(int) place         { return place{} }
func (*middleFn) SplitRestriction(_ int, rest place) []place { return []place{rest} }
func (*middleFn) RestrictionSize(int, place) float64         { return 1 }
func (*middleFn) CreateTracker(rest place) *tracker          { return &tracker{at: rest} }
func (*middleFn) ProcessElement(*tracker, int, func(int))    {}

func TestSourcesThatAreRefused(t *testing.T) {
	for name, build := range map[string]func(b *builder, ran *hooks) beam.PCollection{
		"a watermark that follows what is emitted": func(b *builder, ran *hooks) beam.PCollection {
			return beam.ParDo(b.Scope, &observingFn{sourceFn{b.name(ran)}}, beam.Impulse(b.Scope))
		},
		"two restrictions": func(b *builder, _ *hooks) beam.PCollection {
			return beam.ParDo(b.Scope, &splitFn{sourceFn{b.name(&hooks{})}}, beam.Impulse(b.Scope))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuilder(t)
			build(b, &hooks{setup: func(context.Context) error { t.Error("it was set up"); return nil }})
			if err := b.run(t.Context()); !errors.Is(err, direct.ErrUnsupported) || !strings.Contains(err.Error(), "Fn") {
				t.Errorf("the run ended with %v", err)
			}
		})
	}
}

func TestAnEmptyPipelineIsRefused(t *testing.T) {
	if _, err := direct.Execute(t.Context(), beam.NewPipeline()); err == nil {
		t.Error("nothing was run")
	}
}

// A source that says that it has ended, and has not.
func TestASourceThatLeavesWorkBehindIsAnError(t *testing.T) {
	b := newBuilder(t)
	beam.ParDo(b.Scope, &leavingFn{}, beam.Impulse(b.Scope))
	if err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), "before its restriction was done") || strings.Contains(err.Error(), "%!") {
		t.Errorf("the run ended with %v", err)
	}
}

func init() { beam.RegisterDoFn(&leavingFn{}) }

type leavingFn struct{}

func (*leavingFn) CreateInitialRestriction([]byte) place         { return place{} }
func (*leavingFn) SplitRestriction(_ []byte, rest place) []place { return []place{rest} }
func (*leavingFn) RestrictionSize([]byte, place) float64         { return 1 }
func (*leavingFn) CreateTracker(rest place) *tracker             { return &tracker{at: rest} }
func (*leavingFn) ProcessElement(*tracker, []byte, func(mtime.Time, string, int)) error {
	return nil
}
