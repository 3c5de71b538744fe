package spend

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
)

// TestEveryKeyIsPaidAsItsOwnReleaseSays: however many keys of other windows and metrics a
// settlement has, and in whichever order release shards told them.
func TestEveryKeyIsPaidAsItsOwnReleaseSays(t *testing.T) {
	key := rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 0, 5, -1)
	window := rapid.Custom(func(t *rapid.T) schemas.MetricWindow {
		return schemas.MetricWindow{Metric: rapid.Uint32Range(0, 2).Draw(t, "metric"), WindowStart: rapid.Int64Range(0, 1).Draw(t, "start"), WindowEnd: rapid.Int64Range(2, 3).Draw(t, "end")}
	})
	rapid.Check(t, func(t *rapid.T) {
		s := schemas.Settled{Turn: 1, FirstRungs: []units.Precision{unit(1000), unit(1001)}}
		released := map[Cell]units.Precision{}
		for i := range rapid.Uint64Range(0, 200).Draw(t, "released") {
			w, k := window.Draw(t, "window"), key.Draw(t, "key")
			at := Cell{w.Metric, w.WindowStart, w.WindowEnd, k}
			if _, twice := released[at]; twice {
				continue
			}
			released[at] = unit(i)
			s.Keys = append(s.Keys, schemas.SettledKey{Metric: w.Metric, WindowStart: w.WindowStart, WindowEnd: w.WindowEnd, Key: []byte(k), Precision: unit(i)})
		}
		var keys [][]byte
		for range rapid.IntRange(0, 60).Draw(t, "keys") {
			keys = append(keys, []byte(key.Draw(t, "asked")))
		}
		slices.SortFunc(keys, bytes.Compare)
		keys = slices.CompactFunc(keys, bytes.Equal)
		w, private := window.Draw(t, "asked"), rapid.Bool().Draw(t, "private")
		got := NewSettlement(s).precisions(w, keys, private)
		for i, k := range keys {
			want, there := released[Cell{w.Metric, w.WindowStart, w.WindowEnd, string(k)}]
			if !there && private && int(w.Metric) < len(s.FirstRungs) {
				want = s.FirstRungs[w.Metric]
			}
			if got[i] != want {
				t.Fatalf("key %q of %v pays for %v, want %v", k, w, got[i], want)
			}
		}
	})
}
