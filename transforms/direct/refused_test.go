package direct_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window/trigger"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/timers"

	"github.com/tollgate-dp/tollgate/transforms/direct"
)

func init() {
	beam.RegisterDoFn(&timerFn{})
	beam.RegisterDoFn(&stateFn{})
	for _, fn := range []any{sideFn, twoOutputs, returning, namedKey, floatKey, windowFn} {
		beam.RegisterFunction(fn)
	}
	beam.RegisterType(reflect.TypeFor[custom]())
	beam.RegisterCoder(reflect.TypeFor[custom](), func(c custom) []byte { return []byte(c) }, func(b []byte) custom { return custom(b) })
}

// custom has a coder of its own, which may say that values are the same.
type custom string

func sideFn(key string, _ int, _ int, emit func(string, int))               { emit(key, 1) }
func twoOutputs(key string, n int, one func(string, int), two func(string)) { one(key, n); two(key) }
func returning(key string, n int) (string, int)                             { return key, n }
func namedKey(s string, n int, emit func(custom, int))                      { emit(custom(s), n) }
func floatKey(_ string, n int, emit func(float64, int))                     { emit(float64(n), n) }
func windowFn(_ beam.Window, key string, n int, emit func(string, int))     { emit(key, n) }

type timerFn struct{ At timers.EventTime }

func (f *timerFn) ProcessElement(_ timers.Provider, key string, n int, emit func(string, int)) {}
func (f *timerFn) OnTimer(context.Context, beam.EventTime, timers.Provider, string, timers.Context, func(string, int)) {
}

// stateFn keeps a total of each key.
type stateFn struct{ Total state.Value[int] }

func (f *stateFn) ProcessElement(p state.Provider, key string, n int, emit func(string, int)) {}

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
		"two consumers":   {func(s scope, in beam.PCollection) { beam.DropKey(s, in); beam.DropValue(s, in) }, "dropKeyFn", nil},
		"two impulses":    {func(s scope, _ beam.PCollection) { beam.Impulse(s) }, "Impulse", nil},
		"flatten":         {func(s scope, in beam.PCollection) { beam.Flatten(s, in, in) }, "Flatten", nil},
		"reshuffle":       {func(s scope, in beam.PCollection) { beam.Reshuffle(s, in) }, "Reshuffle", nil},
		"two outputs":     {func(s scope, in beam.PCollection) { beam.ParDo2(s, twoOutputs, in) }, "twoOutputs", nil},
		"returned values": {func(s scope, in beam.PCollection) { beam.ParDo(s, returning, in) }, "returning", nil},
		"sliding windows": {func(s scope, in beam.PCollection) { beam.WindowInto(s, window.NewSlidingWindows(1, 2), in) }, "WindowInto", nil},
		"trigger": {func(s scope, in beam.PCollection) {
			grouped(s, in, beam.Trigger(trigger.AfterCount(2)), beam.PanesDiscard())
		}, "CoGBK", nil},
		"lateness":                           {func(s scope, in beam.PCollection) { grouped(s, in, beam.AllowedLateness(time.Second)) }, "CoGBK", nil},
		"keys with a coder of their own":     {func(s scope, in beam.PCollection) { beam.GroupByKey(s, beam.ParDo(s, namedKey, in)) }, "CoGBK", nil},
		"keys that may not equal themselves": {func(s scope, in beam.PCollection) { beam.GroupByKey(s, beam.ParDo(s, floatKey, in)) }, "CoGBK", nil},
		"window":                             {func(s scope, in beam.PCollection) { beam.ParDo(s, windowFn, in) }, "windowFn", nil},
		"timers":                             {func(s scope, in beam.PCollection) { beam.ParDo(s, &timerFn{timers.InEventTime("at")}, in) }, "timerFn", nil},
		"keyed state": {func(s scope, in beam.PCollection) {
			beam.ParDo(s, &stateFn{state.MakeValueState[int]("t")}, in)
		}, "stateFn", direct.ErrStateWouldBeLost},
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
