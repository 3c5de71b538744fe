package direct_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/transforms/direct"
)

// noting notes every group that it takes and passes its sum on.
func noting(n *notes, name string) *hooks {
	return iterate(func(at beam.EventTime, key string, values []int, emit emitter) error {
		slices.Sort(values)
		n.add("%s %s %v until %d", name, key, values, (at.Milliseconds()+1)/1000)
		sum := 0
		for _, v := range values {
			sum += v
		}
		emit(at, key, sum)
		return nil
	})
}

func TestWindowsFireInOrderAndOneAtATime(t *testing.T) {
	for _, test := range []struct {
		name   string
		steps  []func(emitter) int64
		second int64 // size of the second stage's windows
		want   []string
	}{
		{"nothing is emitted", []func(emitter) int64{func(emitter) int64 { return 5 }, func(emitter) int64 { return 9 }}, 1, nil},
		{"several windows in one step, the last one first", []func(emitter) int64{func(emit emitter) int64 {
			for _, s := range []int64{30, 10, 20} {
				emit(at(s), "a", int(s))
			}
			return 40
		}}, 1, []string{"first a [10] until 11", "second a [10] until 11", "first a [20] until 21", "second a [20] until 21", "first a [30] until 31", "second a [30] until 31"}},
		{"a second stage's window that has waited goes before a later one of the first", []func(emitter) int64{
			func(emit emitter) int64 { emit(at(0), "a", 1); return 3 },
			func(emit emitter) int64 { emit(at(20), "a", 2); return 25 },
			func(emitter) int64 { return 25 },
		}, 10, []string{"first a [1] until 1", "second a [1] until 10", "first a [2] until 21", "second a [2] until 30"}},
		{"a window's elements come in several steps, and once it is passed it fires", []func(emitter) int64{
			func(emit emitter) int64 { emit(at(1), "a", 1); return 1 },
			func(emit emitter) int64 { emit(at(1), "a", 2); return 1 }, // at its own watermark
			func(emit emitter) int64 { emit(at(1), "a", 4); return 2 },
			func(emit emitter) int64 { emit(at(2), "a", 8); return 2 },
		}, 1, []string{"first a [1 2 4] until 2", "second a [7] until 2", "first a [8] until 3", "second a [8] until 3"}},
		{"a watermark that goes backwards stands", []func(emitter) int64{
			func(emit emitter) int64 { emit(at(1), "a", 1); return 2 },
			func(emitter) int64 { return 0 },
			func(emit emitter) int64 { emit(at(2), "a", 2); return 3 },
		}, 1, []string{"first a [1] until 2", "second a [1] until 2", "first a [2] until 3", "second a [2] until 3"}},
		{"times before the epoch", []func(emitter) int64{
			func(emit emitter) int64 {
				emit(at(-25), "a", 1)
				emit(at(-20), "a", 2)
				emit(at(-11), "a", 4)
				return -20
			},
			func(emitter) int64 { return -5 },
		}, 10, []string{"first a [1] until -24", "second a [1] until -20", "first a [2] until -19", "first a [4] until -10", "second a [2 4] until -10"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, n := newBuilder(t), &notes{}
			first := b.group(noting(n, "first"), b.fixed(1, b.steps(test.steps...)))
			b.group(noting(n, "second"), b.fixed(test.second, first))
			if err := b.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, n.all); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatComesBehindTheWatermarkIsAnError(t *testing.T) {
	b, n := newBuilder(t), &notes{}
	b.group(noting(n, "stage"), b.fixed(1, b.steps(
		func(emit emitter) int64 { emit(at(1), "a", 1); return 5 },
		func(emit emitter) int64 { emit(at(4), "a", 2); return 5 },
	)))
	if err := b.run(t.Context()); !errors.Is(err, direct.ErrLate) || !strings.Contains(err.Error(), "groupFn") {
		t.Errorf("the run ended with %v", err)
	}
	if len(n.all) != 1 {
		t.Errorf("fired %v", n.all)
	}
}

// A later stage emits before the window that fires.
func TestAStageThatEmitsBehindTheWatermarkIsAnError(t *testing.T) {
	b, n := newBuilder(t), &notes{}
	back := iterate(func(_ beam.EventTime, key string, _ []int, emit emitter) error {
		emit(at(0), key, 1)
		return nil
	})
	first := b.group(back, b.fixed(1, b.steps(func(emit emitter) int64 { emit(at(7), "a", 1); return 9 })))
	b.group(noting(n, "second"), b.fixed(1, first))
	if err := b.run(t.Context()); !errors.Is(err, direct.ErrLate) || len(n.all) > 0 {
		t.Errorf("the run ended with %v after %v", err, n.all)
	}
}

// The source goes on for one step that emits, and no further, while a group is under way.
func TestTheSourceWaitsWhileAFiringIsUnderWay(t *testing.T) {
	b := newBuilder(t)
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int64
		first := make(chan struct{})
		b.group(iterate(func(at beam.EventTime, _ string, _ []int, _ emitter) error {
			if at.Milliseconds() < 1000 {
				<-first
			}
			return nil
		}), b.fixed(1, b.source(&hooks{step: func(_ context.Context, n int, emit emitter) (move, error) {
			begun.Add(1)
			emit(at(int64(n)), "a", n)
			return move{watermark: int64(n) + 1, done: n == 9}, nil
		}})))
		ended := make(chan error, 1)
		go func() {
			_, err := direct.Execute(t.Context(), b.Pipeline)
			ended <- err
		}()
		synctest.Wait() // until nothing moves
		if n := begun.Load(); n != 2 {
			t.Errorf("%d steps were made while the first one's window was under way, want 1 more", n)
		}
		close(first)
		if err := <-ended; err != nil || begun.Load() != 10 {
			t.Errorf("%v, %d steps", err, begun.Load())
		}
	})
}

func TestWhatIsEmittedLastIsDrained(t *testing.T) {
	b, n := newBuilder(t), &notes{}
	all := beam.WindowInto(b.Scope, window.NewGlobalWindows(), b.group(noting(n, "windows"), b.fixed(1000, b.steps(
		func(emit emitter) int64 { emit(at(1), "a", 1); return 0 },
		func(emit emitter) int64 { emit(at(2), "b", 2); return 0 },
	))))
	b.group(noting(n, "at the end"), beam.GroupByKey(b.Scope, all))
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(n.all)
	if got := fmt.Sprint(n.all); strings.Count(got, "windows") != 2 || strings.Count(got, "at the end a [1]") != 1 || strings.Count(got, "at the end b [2]") != 1 {
		t.Errorf("what was drained: %v", n.all)
	}
}

// Groups that a global window held have the last time there is; it is in a fixed window too.
func TestTheEndOfTimeIsInAWindow(t *testing.T) {
	b, n := newBuilder(t), &notes{}
	all := beam.WindowInto(b.Scope, window.NewGlobalWindows(), b.steps(func(emit emitter) int64 { emit(at(1), "a", 1); return 0 }))
	first := b.group(noting(n, "global"), beam.GroupByKey(b.Scope, all))
	b.group(noting(n, "fixed"), b.fixed(7, first))
	if err := b.run(t.Context()); err != nil || len(n.all) != 2 {
		t.Errorf("%v, %v", err, n.all)
	}
}

// A pipeline without a splittable source, with a DoFn of single values and of returned ones.
func TestASourceThatIsNotSplittable(t *testing.T) {
	b, n := newBuilder(t), &notes{}
	lengths := beam.ParDo(b.Scope, &lengthFn{}, beam.Create(b.Scope, "a", "bb", "cc"))
	b.group(noting(n, "stage"), beam.GroupByKey(b.Scope, beam.ParDo(b.Scope, keyOf, lengths)))
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(n.all)
	if len(n.all) != 2 || !strings.HasPrefix(n.all[0], "stage 1 [1]") || !strings.HasPrefix(n.all[1], "stage 2 [2 2]") {
		t.Errorf("%v", n.all)
	}
}

func init() {
	beam.RegisterDoFn(&lengthFn{})
	beam.RegisterFunction(keyOf)
}

var errLength = errors.New("too long")

// lengthFn returns a value and an error.
type lengthFn struct{}

func (*lengthFn) ProcessElement(s string) (int, error) {
	if len(s) > 5 {
		return 0, errLength
	}
	return len(s), nil
}

func keyOf(n int) (beam.EventTime, string, int) { return at(int64(n)), fmt.Sprint(n), n }

func TestAReturnedErrorIsNoElement(t *testing.T) {
	b := newBuilder(t)
	beam.ParDo(b.Scope, keyOf, beam.ParDo(b.Scope, &lengthFn{}, beam.Create(b.Scope, "a", "too long")))
	if err := b.run(t.Context()); !errors.Is(err, errLength) {
		t.Errorf("the run ended with %v", err)
	}
}
