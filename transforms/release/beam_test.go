package release

import (
	"context"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	//lint:ignore SA1019 what has no state must run on the older runner as well
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

// The stages without state, on the SDK's older direct runner.

func init() {
	beam.RegisterType(reflect.TypeFor[directHook]())
	beam.RegisterType(reflect.TypeFor[directSettleHook]())
	beam.RegisterDoFn(&partialsFn{})
}

// directSeen is how many turns the direct runner's hooks have settled.
var directSeen atomic.Int64

type partialsFn struct{ Blobs [][]byte }

func (f *partialsFn) ProcessElement(_ []byte, emit func(int, []byte)) {
	for _, b := range f.Blobs {
		emit(0, b)
	}
}

type directHook struct{ Metrics []schemas.MetricSpec }

func (h directHook) Open(context.Context) (transforms.Releaser, error) {
	return New(Options{Metrics: h.Metrics, Ending: testWindows, Counts: schemas.CountsEncoding{Format: schemas.CountsJSON}, Publisher: &published{}})
}

type directSettleHook struct{ Metrics []schemas.MetricSpec }

func (h directSettleHook) Open(context.Context) (transforms.Settler, error) {
	return NewSettler(h.Metrics, h)
}

func (directSettleHook) WriteSettlement(_ context.Context, s schemas.Settled) error {
	directSeen.Add(int64(len(s.Keys)))
	return nil
}

func TestStagesWithoutStateRunOnTheDirectRunner(t *testing.T) {
	directSeen.Store(0)
	p, s := beam.NewPipelineWithRoot()
	partials := beam.ParDo(s, &partialsFn{twoPartials(t, 1)}, beam.Impulse(s))
	metrics := testMetrics(t)
	acks := transforms.Release(s, directHook{metrics}, transforms.Pack(s, partials))
	transforms.Settle(s, directSettleHook{metrics}, transforms.Pack(s, acks))
	if _, err := direct.Execute(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if n := directSeen.Load(); n != 2 {
		t.Fatalf("%d counts were settled, want 2", n)
	}
}
