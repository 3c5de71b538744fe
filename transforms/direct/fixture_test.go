package direct_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/transforms/direct"
)

func init() {
	beam.RegisterDoFn(&sourceFn{})
	beam.RegisterDoFn(&groupFn{})
	beam.RegisterDoFn(&pairFn{})
	beam.RegisterType(reflect.TypeFor[place]())
}

type emitter func(beam.EventTime, string, int)

// hooks are what a DoFn of a test does. They stay in this process: a DoFn finds them by its name.
type hooks struct {
	setup, teardown func(context.Context) error
	start, finish   func(context.Context, emitter) error
	element         func(ctx context.Context, at beam.EventTime, key string, values []int, emit emitter) error
	step            func(ctx context.Context, n int, emit emitter) (move, error) // of a source
}

// move is what a step of a source comes to: the watermark, in seconds, and where it goes on.
type move struct {
	watermark int64
	delay     time.Duration
	done      bool
}

var known sync.Map // *hooks by name

// hooked has the life cycle of all DoFns here.
type hooked struct{ Name string }

func (h hooked) hooks() *hooks {
	found, ok := known.Load(h.Name)
	if !ok {
		panic("no hooks are called " + h.Name)
	}
	return found.(*hooks)
}

func (h hooked) Setup(ctx context.Context) error {
	if f := h.hooks().setup; f != nil {
		return f(ctx)
	}
	return nil
}

func (h hooked) Teardown(ctx context.Context) error {
	if f := h.hooks().teardown; f != nil {
		return f(ctx)
	}
	return nil
}

func (h hooked) StartBundle(ctx context.Context, emit func(beam.EventTime, string, int)) error {
	if f := h.hooks().start; f != nil {
		return f(ctx, emit)
	}
	return nil
}

func (h hooked) FinishBundle(ctx context.Context, emit func(beam.EventTime, string, int)) error {
	if f := h.hooks().finish; f != nil {
		return f(ctx, emit)
	}
	return nil
}

// groupFn takes groups.
type groupFn struct{ hooked }

func (f *groupFn) ProcessElement(ctx context.Context, at beam.EventTime, key string, next func(*int) bool, emit func(beam.EventTime, string, int)) error {
	var values []int
	for v := 0; next(&v); {
		values = append(values, v)
	}
	if v := 0; next(&v) {
		return fmt.Errorf("%q: a group that has ended goes on", key)
	}
	return f.hooks().element(ctx, at, key, values, emit)
}

// pairFn takes pairs.
type pairFn struct{ hooked }

func (f *pairFn) ProcessElement(ctx context.Context, at beam.EventTime, key string, value int, emit func(beam.EventTime, string, int)) error {
	return f.hooks().element(ctx, at, key, []int{value}, emit)
}

// place is a source's restriction: from which step it goes on.
type place struct {
	Next int
	Done bool
}

// sourceFn makes one step a call.
type sourceFn struct{ hooked }

func (f *sourceFn) CreateInitialRestriction([]byte) place         { return place{} }
func (f *sourceFn) SplitRestriction(_ []byte, rest place) []place { return []place{rest} }
func (f *sourceFn) RestrictionSize([]byte, place) float64         { return 1 }
func (f *sourceFn) CreateTracker(rest place) *tracker             { return &tracker{at: rest} }
func (f *sourceFn) CreateWatermarkEstimator() *sdf.ManualWatermarkEstimator {
	return &sdf.ManualWatermarkEstimator{}
}

func (f *sourceFn) ProcessElement(ctx context.Context, w *sdf.ManualWatermarkEstimator, rt *tracker, _ []byte, emit func(beam.EventTime, string, int)) (sdf.ProcessContinuation, error) {
	m, err := f.hooks().step(ctx, rt.at.Next, emit)
	if err != nil {
		return nil, err
	}
	w.UpdateWatermark(at(m.watermark).ToTime())
	rt.TryClaim(place{rt.at.Next + 1, m.done})
	if m.done {
		return sdf.StopProcessing(), nil
	}
	return sdf.ResumeProcessingIn(m.delay), nil
}

// tracker goes on where the last claim says.
type tracker struct{ at, next place }

func (t *tracker) TryClaim(to any) bool            { t.next = to.(place); return true }
func (t *tracker) GetError() error                 { return nil }
func (t *tracker) GetProgress() (float64, float64) { return 0, 1 }
func (t *tracker) IsDone() bool                    { return t.next.Done }
func (t *tracker) GetRestriction() any             { return t.at }
func (t *tracker) IsBounded() bool                 { return false }
func (t *tracker) TrySplit(float64) (any, any, error) {
	if t.next.Done {
		return t.at, nil, nil
	}
	return place{Done: true}, t.next, nil
}

// at is a time of a test, in seconds.
func at(seconds int64) beam.EventTime { return mtime.FromMilliseconds(seconds * 1000) }

// builder makes pipelines of hooked DoFns.
type builder struct {
	t *testing.T
	*beam.Pipeline
	beam.Scope
	names int
}

func newBuilder(t *testing.T) *builder {
	p, s := beam.NewPipelineWithRoot()
	return &builder{t: t, Pipeline: p, Scope: s}
}

func (b *builder) name(h *hooks) hooked {
	b.names++
	name := fmt.Sprint(b.t.Name(), "/", b.names)
	known.Store(name, h)
	b.t.Cleanup(func() { known.Delete(name) })
	return hooked{name}
}

func (b *builder) source(h *hooks) beam.PCollection {
	return beam.ParDo(b.Scope, &sourceFn{b.name(h)}, beam.Impulse(b.Scope))
}

// steps is a source that makes these steps; the last one ends it.
func (b *builder) steps(steps ...func(emitter) int64) beam.PCollection {
	return b.source(&hooks{step: func(_ context.Context, n int, emit emitter) (move, error) {
		return move{watermark: steps[n](emit), done: n == len(steps)-1}, nil
	}})
}

// fixed groups by windows of so many seconds.
func (b *builder) fixed(seconds int64, in beam.PCollection) beam.PCollection {
	return beam.GroupByKey(b.Scope, beam.WindowInto(b.Scope, window.NewFixedWindows(time.Duration(seconds)*time.Second), in))
}

func (b *builder) group(h *hooks, in beam.PCollection) beam.PCollection {
	return beam.ParDo(b.Scope, &groupFn{b.name(h)}, in)
}

func (b *builder) pair(h *hooks, in beam.PCollection) beam.PCollection {
	return beam.ParDo(b.Scope, &pairFn{b.name(h)}, in)
}

// iterate makes hooks of what happens to elements.
func iterate(f func(at beam.EventTime, key string, values []int, emit emitter) error) *hooks {
	return &hooks{element: func(_ context.Context, at beam.EventTime, key string, values []int, emit emitter) error {
		return f(at, key, values, emit)
	}}
}

// run executes what was built and looks for goroutines that it has left.
func (b *builder) run(ctx context.Context) error {
	b.t.Helper()
	_, err := direct.Execute(ctx, b.Pipeline)
	await.That(b.t, time.Second, "no goroutine of the run is left", func() bool { return !strings.Contains(othersStacks(), "transforms/direct.") })
	return err
}

// othersStacks are the stacks of all goroutines but the caller's.
func othersStacks() string {
	buf := make([]byte, 1<<20)
	_, others, _ := strings.Cut(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	return others
}

// notes collects what DoFns say, from several goroutines.
type notes struct {
	mu  sync.Mutex
	all []string
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, fmt.Sprintf(format, args...))
}

func (n *notes) count(note string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := 0
	for _, have := range n.all {
		if have == note {
			count++
		}
	}
	return count
}
