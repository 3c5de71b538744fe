package plain

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/timers"

	"github.com/tollgate-dp/tollgate/schemas"
)

func init() {
	beam.RegisterDoFn(&zerosFn{})
	beam.RegisterDoFn(&watermarkFn{})
	beam.RegisterDoFn(&wakeFn{})
	beam.RegisterDoFn(&clockFn{})
}

// publicKeys returns the public keys, which are released in every window, by metric.
func (t *Transforms) publicKeys() []PublicKeys {
	var out []PublicKeys
	for _, m := range t.settings.Metrics {
		if len(m.PublicKeys) > 0 {
			out = append(out, PublicKeys{m.Name, m.PublicKeys})
		}
	}
	return out
}

// PublicKeys lists the public keys of a metric. It is exported because DoFns serialise it.
type PublicKeys struct {
	Metric string
	Keys   []string
}

func emitZeros(metrics []PublicKeys, size, end int64, emit func([]byte, int64)) {
	for _, m := range metrics {
		for _, key := range m.Keys {
			emit(schemas.EncodeReleaseKey(m.Metric, end-size, []byte(key)), 0)
		}
	}
}

func (t *Transforms) zerosAtOnce(s beam.Scope) (beam.PCollection, bool) {
	metrics := t.publicKeys()
	if len(metrics) == 0 {
		return beam.PCollection{}, false
	}
	sp := t.settings.span()
	return beam.ParDo(s, &zerosFn{Metrics: metrics, From: sp.from, To: sp.to, Size: sp.size}, beam.Impulse(s)), true
}

// zerosFn emits the zeros of all windows at once.
type zerosFn struct {
	Metrics        []PublicKeys
	From, To, Size int64
}

// ProcessElement emits the zeros. It is called once.
func (f *zerosFn) ProcessElement(_ []byte, emit func([]byte, int64)) {
	for end := f.From + f.Size; end <= f.To; end += f.Size {
		emitZeros(f.Metrics, f.Size, end, emit)
	}
}

// zerosInTime returns the zeros of every window, which it emits when the events' watermark passes
// the end of the window. Earlier zeros would wait in the engine, perhaps for years.
func (t *Transforms) zerosInTime(s beam.Scope, events beam.PCollection) (beam.PCollection, bool) {
	metrics := t.publicKeys()
	if len(metrics) == 0 {
		return beam.PCollection{}, false
	}
	sp := t.settings.span()
	// The watermark of the impulse alone would already be at the end of time.
	clock := beam.Flatten(s, beam.ParDo(s, &wakeFn{}, beam.Impulse(s)), beam.ParDo(s, &watermarkFn{}, events))
	return beam.ParDo(s, newClockFn(metrics, sp), clock), true
}

// wakeFn emits the only element of the clock.
type wakeFn struct{}

// ProcessElement emits the element. It is called once.
func (*wakeFn) ProcessElement(_ []byte, emit func([]byte, []byte)) { emit([]byte{0}, nil) }

// watermarkFn passes on the watermark of its input, but no elements.
type watermarkFn struct{}

// ProcessElement drops the element.
func (*watermarkFn) ProcessElement(_, _ []byte, _ func([]byte, []byte)) {}

// clockFn emits zeros for one key. Its timer sets itself again at the end of every window.
type clockFn struct {
	Metrics        []PublicKeys
	From, To, Size int64
	Next           state.Value[int64]
	Due            timers.EventTime
}

func newClockFn(metrics []PublicKeys, sp span) *clockFn {
	return &clockFn{
		Metrics: metrics, From: sp.from, To: sp.to, Size: sp.size,
		Next: state.MakeValueState[int64]("next"), Due: timers.InEventTime("due"),
	}
}

// ProcessElement sets the timer for the first window.
func (f *clockFn) ProcessElement(_ context.Context, p state.Provider, tp timers.Provider, _, _ []byte,
	_ func(beam.EventTime, []byte, int64)) error {
	return f.wait(p, tp, f.From+f.Size)
}

// OnTimer emits the zeros of a window.
func (f *clockFn) OnTimer(_ context.Context, _ beam.EventTime, p state.Provider, tp timers.Provider, _ []byte,
	_ timers.Context, emit func(beam.EventTime, []byte, int64)) error {
	end, ok, err := f.Next.Read(p)
	if err != nil || !ok {
		return err
	}
	emitZeros(f.Metrics, f.Size, end, func(cell []byte, n int64) { emit(lastOf(end), cell, n) })
	if end += f.Size; end > f.To {
		return nil
	}
	return f.wait(p, tp, end)
}

func (f *clockFn) wait(p state.Provider, tp timers.Provider, end int64) error {
	if err := f.Next.Write(p, end); err != nil {
		return fmt.Errorf("waiting for a window's end: %w", err)
	}
	setDue(f.Due, tp, end)
	return nil
}
