package direct_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/transforms/direct"
)

// item is an element as the model has it.
type item struct {
	at    mtime.Time
	key   string
	value int
}

// link is an operation of a random chain, over the pipeline and over the model.
type link struct {
	kind   string // pair, group
	size   int64  // seconds of a group's windows; 0: the global window
	number int
}

// copies is what a pair link makes of an item.
func (l link) copies(i item) []item {
	var out []item
	for c := range (i.value*7 + l.number) % 3 {
		out = append(out, item{i.at, fmt.Sprint("k", (i.value+c+l.number)%40), i.value + c})
	}
	return out
}

// totals is what a group link makes of a group.
func (l link) totals(at mtime.Time, key string, values []int) []item {
	sum := 0
	for _, v := range values {
		sum += v
	}
	out := []item{{at, key, sum % 1000}}
	if len(values) > 1 {
		out = append(out, item{at, fmt.Sprint("n", len(values)%7), len(values)})
	}
	return out
}

// compute is the model: everything at once, without watermarks, bundles and instances.
func compute(chain []link, items []item) []item {
	for _, l := range chain {
		var out []item
		type group struct {
			at  mtime.Time
			key string
		}
		groups := map[group][]int{}
		for _, i := range items {
			switch l.kind {
			case "pair":
				out = append(out, l.copies(i)...)
			case "group":
				end := mtime.EndOfGlobalWindowTime
				if l.size > 0 {
					end = (i.at/at(l.size) + 1) * at(l.size)
					end = min(end-1, mtime.EndOfGlobalWindowTime)
				}
				groups[group{end, i.key}] = append(groups[group{end, i.key}], i.value)
			}
		}
		for g, values := range groups {
			out = append(out, l.totals(g.at, g.key, values)...)
		}
		items = out
	}
	return items
}

// watching notes what may not happen in a random chain.
type watching struct {
	mu     sync.Mutex
	firing map[string]int     // groups that are under way, by stage and window
	last   map[int]mtime.Time // window that fired last, by stage
	setups map[int]int        // by stage
	out    []item
	faults []string
}

// around is called with every group; end says that it is done.
func (w *watching) around(l link, at mtime.Time) (end func()) {
	name := fmt.Sprint(l.number, " until ", at)
	w.mu.Lock()
	w.firing[name]++
	if len(w.firing) > 1 {
		w.faults = append(w.faults, fmt.Sprint("under way at the same time: ", slices.Collect(maps.Keys(w.firing))))
	}
	if w.firing[name] > direct.Parallelism {
		w.faults = append(w.faults, fmt.Sprint(w.firing[name], " groups at a time"))
	}
	if at < w.last[l.number] {
		w.faults = append(w.faults, fmt.Sprintf("stage %d: %v after %v", l.number, at, w.last[l.number]))
	}
	w.last[l.number] = at
	w.mu.Unlock()
	runtime.Gosched()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.firing[name]--; w.firing[name] == 0 {
			delete(w.firing, name)
		}
	}
}

func (w *watching) emit(items []item, emit emitter) {
	for _, i := range items {
		emit(i.at, i.key, i.value)
	}
}

// put adds a link to a pipeline.
func (w *watching) put(b *builder, l link, in beam.PCollection) beam.PCollection {
	h := &hooks{setup: func(context.Context) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.setups[l.number]++; w.setups[l.number] > direct.Parallelism {
			w.faults = append(w.faults, fmt.Sprint(w.setups[l.number], " instances of one DoFn"))
		}
		return nil
	}}
	switch l.kind {
	case "pair":
		h.element = func(_ context.Context, at beam.EventTime, key string, values []int, emit emitter) error {
			w.emit(l.copies(item{at, key, values[0]}), emit)
			return nil
		}
		return b.pair(h, in)
	}
	h.element = func(_ context.Context, at beam.EventTime, key string, values []int, emit emitter) error {
		defer w.around(l, at)()
		w.emit(l.totals(at, key, values), emit)
		return nil
	}
	if l.size > 0 {
		return b.group(h, b.fixed(l.size, in))
	}
	return b.group(h, beam.GroupByKey(b.Scope, beam.WindowInto(b.Scope, window.NewGlobalWindows(), in)))
}

// TestRandomChainsEqualTheModel: what comes out, how many instances there are, one firing at a time
// and in order.
func TestRandomChainsEqualTheModel(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(runseed.PCG(t, seed, 12))
		var chain []link
		for n := range 1 + random.IntN(6) {
			l := link{kind: []string{"pair", "group", "group"}[random.IntN(3)], number: n}
			if l.kind == "group" && random.IntN(5) > 0 {
				l.size = 1 + random.Int64N(12)
			}
			chain = append(chain, l)
		}
		var steps [][]item
		var marks []int64
		var all []item
		mark := int64(0)
		for range random.IntN(12) + 1 {
			var step []item
			for range random.IntN(40) * random.IntN(2) {
				step = append(step, item{at(mark + random.Int64N(20)), fmt.Sprint("k", random.IntN(60)), random.IntN(100)})
			}
			all = append(all, step...)
			mark += random.Int64N(4) * random.Int64N(6)
			steps, marks = append(steps, step), append(marks, mark-random.Int64N(2)*random.Int64N(3))
		}
		want := compute(chain, all)
		w := &watching{firing: map[string]int{}, last: map[int]mtime.Time{}, setups: map[int]int{}}
		b := newBuilder(t)
		out := b.source(&hooks{step: func(_ context.Context, n int, emit emitter) (move, error) {
			w.emit(steps[n], emit)
			return move{watermark: marks[n], done: n == len(steps)-1}, nil
		}})
		for _, l := range chain {
			out = w.put(b, l, out)
		}
		b.pair(iterate(func(at beam.EventTime, key string, values []int, _ emitter) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.out = append(w.out, item{at, key, values[0]})
			return nil
		}), out)
		if err := b.run(t.Context()); err != nil {
			t.Fatalf("seed %d, %+v: %v", seed, chain, err)
		}
		if len(w.faults) > 0 {
			t.Fatalf("seed %d, %+v: %v", seed, chain, w.faults)
		}
		if diff := cmp.Diff(sorted(want), sorted(w.out)); diff != "" {
			t.Fatalf("seed %d, %+v (-model +got):\n%s", seed, chain, diff)
		}
	}
}

func sorted(items []item) []string {
	var out []string
	for _, i := range items {
		out = append(out, fmt.Sprint(i))
	}
	slices.Sort(out)
	return out
}
