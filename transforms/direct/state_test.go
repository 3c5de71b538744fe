package direct_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/google/go-cmp/cmp"
)

func init() {
	beam.RegisterDoFn(&keepFn{})
}

// keepFn keeps what it has seen of a key.
type keepFn struct {
	Total  state.Value[int]
	Seen   state.Bag[int]
	Forget int // this value clears the state
	Job    bool
	Notes  hooked
}

func (f *keepFn) EphemeralState() bool { return f.Job }

func (b *builder) keep(h *hooks, in beam.PCollection) beam.PCollection {
	return beam.ParDo(b.Scope, &keepFn{state.MakeValueState[int]("total"), state.MakeBagState[int]("seen"), -1, true, b.name(h)}, in)
}

func (f *keepFn) ProcessElement(ctx context.Context, at beam.EventTime, p state.Provider, key string, value int, emit func(beam.EventTime, string, int)) error {
	total, kept, err := f.Total.Read(p)
	if err != nil {
		return err
	}
	seen, _, err := f.Seen.Read(p)
	if err != nil {
		return err
	}
	if kept != (len(seen) > 0) {
		return fmt.Errorf("a total is kept: %v, of %v", kept, seen)
	}
	if value == f.Forget {
		if err := f.Total.Clear(p); err != nil {
			return err
		}
		return f.Seen.Clear(p)
	}
	if err := f.Total.Write(p, total+value); err != nil {
		return err
	}
	if err := f.Seen.Add(p, value); err != nil {
		return err
	}
	return f.Notes.hooks().element(ctx, at, key, append(seen, value, total+value), emit)
}

// Every element of a key sees what the one before has left, over windows and bundles, and keys are
// apart.
func TestStateIsOfAKeyAndInOrder(t *testing.T) {
	b, n := newBuilder(t), &notes{}
	last := map[string][]int{}
	h := iterate(func(_ beam.EventTime, key string, seen []int, _ emitter) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		last[key] = slices.Clone(seen)
		return nil
	})
	b.keep(h, b.steps(
		func(emit emitter) int64 {
			for i := range 50 {
				emit(at(1), fmt.Sprint(i), 1)
				emit(at(1), fmt.Sprint(i), 2)
			}
			return 3
		},
		func(emit emitter) int64 { emit(at(5), "0", 3); emit(at(5), "1", -1); emit(at(5), "1", 7); return 9 },
	))
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string][]int{"0": {1, 2, 3, 6}, "1": {7, 7}}
	for i := 2; i < 50; i++ {
		want[fmt.Sprint(i)] = []int{1, 2, 3}
	}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// State stands after groups as SPEND's does, and two DoFns do not share it.
func TestStatesBehindEachOther(t *testing.T) {
	b, n := newBuilder(t), &notes{}
	sum := func(name string) *hooks {
		return iterate(func(at beam.EventTime, key string, seen []int, emit emitter) error {
			n.add("%s %s %v", name, key, seen)
			emit(at, key, seen[len(seen)-1])
			return nil
		})
	}
	groups := b.group(passing(), b.fixed(1, b.steps(
		func(emit emitter) int64 { emit(at(0), "a", 1); return 1 },
		func(emit emitter) int64 { emit(at(1), "a", 2); return 2 },
	)))
	global := beam.WindowInto(b.Scope, window.NewGlobalWindows(), groups)
	b.keep(sum("second"), b.keep(sum("first"), global))
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"first a [1 1]", "second a [1 1]", "first a [1 2 3]", "second a [1 3 4]"}; !slices.Equal(n.all, want) {
		t.Errorf("%q, want %q", n.all, want)
	}
}

// TestKeysOfEveryType are told apart, and put together, as their encodings would be.
func TestKeysOfEveryType(t *testing.T) {
	for _, fn := range []any{boolKey, stringKey, bytesKey, intKey, int8Key, uint64Key} {
		t.Run(fmt.Sprintf("%T", fn), func(t *testing.T) {
			b := newBuilder(t)
			in := beam.GroupByKey(b.Scope, beam.ParDo(b.Scope, fn, beam.Create(b.Scope, 0, 1, 2, 3, 4, 5)))
			n := &notes{}
			b.group(iterate(func(_ beam.EventTime, _ string, values []int, _ emitter) error {
				slices.Sort(values)
				n.add("%v", values)
				return nil
			}), beam.GroupByKey(b.Scope, beam.ParDo(b.Scope, groupName, in)))
			if err := b.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			slices.Sort(n.all)
			if want := []string{"[0 2 4]", "[1 3 5]"}; !slices.Equal(n.all, want) {
				t.Errorf("groups %v, want %v", n.all, want)
			}
		})
	}
}

func init() {
	for _, fn := range []any{boolKey, stringKey, bytesKey, intKey, int8Key, uint64Key, groupName} {
		beam.RegisterFunction(fn)
	}
}

func boolKey(n int) (bool, int)     { return n%2 == 0, n }
func stringKey(n int) (string, int) { return fmt.Sprint(n % 2), n }
func bytesKey(n int) ([]byte, int)  { return []byte{byte(n % 2)}, n }
func intKey(n int) (int, int)       { return n % 2, n }
func int8Key(n int) (int8, int)     { return int8(n % 2), n }
func uint64Key(n int) (uint64, int) { return uint64(n%2) << 63, n }

// groupName takes groups of any key.
func groupName(key beam.T, next func(*int) bool, emit func(string, int)) {
	for n := 0; next(&n); {
		emit(fmt.Sprint(key), n)
	}
}
