package direct_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
)

func init() {
	beam.RegisterType(reflect.TypeFor[meanFn]())
	beam.RegisterType(reflect.TypeFor[total]())
	for _, fn := range []any{oddAndEven, sideOfZeros} {
		beam.RegisterFunction(fn)
	}
}

type total struct{ Sum, N int }

// meanFn has every method of a combiner, and fails for a negative value.
type meanFn struct{}

var errNegative = errors.New("a negative value")

func (*meanFn) CreateAccumulator() total { return total{} }
func (*meanFn) AddInput(_ context.Context, t total, v int) (total, error) {
	switch {
	case v == -1:
		return t, errNegative
	case v < 0:
		panic("a very negative value")
	}
	return total{t.Sum + v, t.N + 1}, nil
}
func (*meanFn) MergeAccumulators(a, b total) total { return total{a.Sum + b.Sum, a.N + b.N} }
func (*meanFn) ExtractOutput(t total) int          { return t.Sum / t.N }

// oddAndEven divides numbers up.
func oddAndEven(at beam.EventTime, key string, n int, odd, even func(beam.EventTime, string, int)) {
	if n%2 == 0 {
		even(at, key, n)
	} else {
		odd(at, key, n)
	}
}

// sideOfZeros emits a zero in each of the first three windows of ten seconds.
func sideOfZeros(_ []byte, emit func(beam.EventTime, string, int)) {
	for s := range int64(3) {
		emit(at(10*s), "a", 0)
		emit(at(10*s), "z", 0)
	}
}

// Groups are combined in their windows, with what a side has made; of two outputs the one that
// nothing consumes is dropped.
func TestCombinersTakeWhatSidesMake(t *testing.T) {
	for name, c := range map[string]struct {
		build func(b *builder, numbers beam.PCollection) beam.PCollection
		want  []string
	}{
		"values that are accumulators": {func(b *builder, numbers beam.PCollection) beam.PCollection {
			odd, _ := beam.ParDo2(b.Scope, oddAndEven, numbers)
			zeros := beam.ParDo(b.Scope, sideOfZeros, beam.Impulse(b.Scope))
			both := beam.WindowInto(b.Scope, window.NewFixedWindows(10*time.Second), beam.Flatten(b.Scope, odd, zeros))
			return beam.CombinePerKey(b.Scope, addInts, both)
		}, []string{"a [4] until 10", "z [0] until 10", "a [5] until 20", "z [0] until 20", "a [0] until 30", "z [0] until 30"}},
		"every method, and the second output": {func(b *builder, numbers beam.PCollection) beam.PCollection {
			_, even := beam.ParDo2(b.Scope, oddAndEven, numbers)
			return beam.CombinePerKey(b.Scope, &meanFn{}, beam.WindowInto(b.Scope, window.NewFixedWindows(10*time.Second), even))
		}, []string{"a [3] until 10", "b [8] until 20"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuilder(t)
			var n notes
			numbers := b.steps(func(emit emitter) int64 {
				for _, v := range []int{1, 2, 3, 4} {
					emit(at(5), "a", v)
				}
				return 10
			}, func(emit emitter) int64 {
				emit(at(15), "a", 5)
				emit(at(15), "b", 8)
				return 30
			})
			b.pair(iterate(func(at beam.EventTime, key string, values []int, _ emitter) error {
				n.add("%s %v until %d", key, values, (at.Milliseconds()+1)/1000)
				return nil
			}), c.build(b, numbers))
			if err := b.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := slices.Clone(n.all)
			slices.SortFunc(got, func(a, b string) int {
				return strings.Compare(a[strings.Index(a, "until"):]+a, b[strings.Index(b, "until"):]+b)
			})
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("combined: %v, want %v", got, c.want)
			}
		})
	}
}

func TestAnErrorOfACombinerEndsTheRun(t *testing.T) {
	for value, want := range map[int]string{-1: errNegative.Error(), -2: "a very negative value"} {
		b := newBuilder(t)
		numbers := b.steps(func(emit emitter) int64 { emit(at(1), "a", value); return 10 })
		beam.CombinePerKey(b.Scope, &meanFn{}, beam.WindowInto(b.Scope, window.NewFixedWindows(time.Second), numbers))
		if err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), want) || value == -1 && !errors.Is(err, errNegative) {
			t.Errorf("%d: the run ended with %v", value, err)
		}
	}
}
