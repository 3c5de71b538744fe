package direct

import (
	"fmt"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
)

// element is an element of a collection, or a group. key is nil unless it is a pair or a
// group; values has the group's values, or the one value.
type element struct {
	key    any
	value  any   // unless it is a group
	group  []any // of a group
	at     mtime.Time
	window typex.Window
}

var global typex.Window = window.GlobalWindow{}

func windowOf(fn *window.Fn, at mtime.Time) typex.Window {
	if fn.Kind == window.GlobalWindows {
		return global
	}
	size := mtime.FromDuration(fn.Size)
	start := at - (at%size+size)%size
	return window.IntervalWindow{Start: start, End: min(start+size, mtime.EndOfGlobalWindowTime+1)}
}

// grouping collects elements until their window fires.
type grouping struct {
	fn        *window.Fn
	watermark mtime.Time // what was emitted before it has fired
	windows   map[typex.Window]*groups
}

// groups are the groups of a window, in the order in which their keys came first.
type groups struct {
	index map[any]int
	all   []element
}

func newGrouping(fn *window.Fn) grouping {
	return grouping{fn: fn, watermark: mtime.MinTimestamp, windows: map[typex.Window]*groups{}}
}

// add keeps an element for its window. Errors: ErrLate; ErrUnsupported for what was emitted when
// a bundle began or ended, and assigned to no window since.
func (g *grouping) add(e *element) error {
	if (e.window == global) != (g.fn.Kind == window.GlobalWindows) {
		return fmt.Errorf("an element was emitted outside of the collection's windows: %w", ErrUnsupported)
	}
	if e.window.MaxTimestamp() < g.watermark {
		return ErrLate
	}
	w := g.windows[e.window]
	if w == nil {
		w = &groups{index: map[any]int{}}
		g.windows[e.window] = w
	}
	n, known := w.index[e.key]
	if !known {
		n = len(w.all)
		w.index[e.key] = n
		w.all = append(w.all, element{key: e.key, at: e.window.MaxTimestamp(), window: e.window})
	}
	w.all[n].group = append(w.all[n].group, e.value)
	return nil
}

// due returns the windows that fire at a watermark, ascending by their ends.
func (g *grouping) due(watermark mtime.Time) []typex.Window {
	var due []typex.Window
	for w := range g.windows {
		if w.MaxTimestamp() < watermark {
			due = append(due, w)
		}
	}
	slices.SortFunc(due, func(a, b typex.Window) int { return int(min(1, max(-1, a.MaxTimestamp()-b.MaxTimestamp()))) })
	return due
}

// fire takes a window's groups.
func (g *grouping) fire(w typex.Window) []element {
	all := g.windows[w].all
	delete(g.windows, w)
	return all
}
