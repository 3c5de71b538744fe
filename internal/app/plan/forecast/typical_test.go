package forecast_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/forecast"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// Of 100 events half are in the two largest cells, with a third that is as large as the second.
func TestHalfOfTheEventsAreInTheLargestCells(t *testing.T) {
	if half := forecast.LeastOfHalf([]float64{10, 30, 20, 20, 15, 5}); half != 20 {
		t.Errorf("cells from %v on hold half, want 20", half)
	}
	if half := forecast.LeastOfHalf([]float64{0, 0}); !math.IsInf(half, 1) {
		t.Errorf("without events: %v", half)
	}
	real := map[string]forecast.Real{}
	for k, n := range map[string]float64{"a": 30, "b": 20, "c": 20, "d": 15, "e": 10, "f": 5} {
		real[k] = forecast.Real{Size: n, Value: n, Scale: n}
	}
	for _, c := range []struct {
		values map[string]float64
		want   float64
	}{
		{nil, 1},
		{map[string]float64{"a": 33, "b": 20, "c": 24, "f": 500}, 0.1},
		{map[string]float64{"a": 33, "b": 18}, 0.1}, // c is hidden: 1
		{map[string]float64{"b": 60}, 1},            // off by 200 %, and two hidden
	} {
		if got, cells := forecast.TypicalError(real, c.values); math.Abs(got-c.want) > 1e-12 || cells != 3 {
			t.Errorf("%v: %v of %d cells, want %v of 3", c.values, got, cells, c.want)
		}
	}
}

// However events are spread, the cells from the least on hold half, and those above it do not.
func TestHalfIsTheLeastThatHoldsHalf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Float64Range(0, 100), 1, 50).Draw(t, "sizes")
		half := forecast.LeastOfHalf(slices.Clone(sizes))
		var all, from, above float64
		for _, n := range sizes {
			all += n
			if n >= half {
				from += n
			}
			if n > half {
				above += n
			}
		}
		if all > 0 && (from < all/2*(1-1e-9) || above > all/2*(1+1e-9)) {
			t.Errorf("cells from %v on hold %v of %v, and those above it %v", half, from, all, above)
		}
	})
}

// Where noise does not matter the typical error is what is left out: of 10 events of each of 1,000
// users 4 are kept, and public keys without events are not asked about.
func TestEventsLeftOutAreATypicalError(t *testing.T) {
	var cells []sample.Cell
	for u := range uint32(1000) {
		cells = append(cells, sample.Cell{User: u, Events: 10})
	}
	settings := demo.Settings{Epsilon: 20, MaxKeysPerUser: 1, MaxEventsPerKey: 4, LastAtLeast: 1, PublicKeys: []string{"k0", "none"}}
	f := of(t, same(1, 1, cells...), compiled(t, settings, nil), forecast.Options{Paths: 5})
	if math.Abs(f.Typical-0.6) > 0.02 || math.Abs(f.Left-0.6) > 1e-9 || f.Noise == 0 || f.Noise > 0.02 || f.Cells != 1 {
		t.Errorf("typically %v, noise %v, left out %v, of %v cells", f.Typical, f.Noise, f.Left, f.Cells)
	}
	// A key that never comes out is wrong by all of it, and has no noise.
	settings.PublicKeys, settings.Epsilon = nil, 0.01
	hidden := of(t, same(1, 1, cells[:3]...), compiled(t, settings, nil), forecast.Options{Paths: 5})
	if hidden.Typical != 1 || hidden.Left != 1 || hidden.Noise != 0 {
		t.Errorf("hidden: typically %v, noise %v, left out %v", hidden.Typical, hidden.Noise, hidden.Left)
	}
}
