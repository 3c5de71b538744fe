package demo

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// The least bound that keeps a share, against trying all.
func TestTheLeastBoundThatKeepsAShare(t *testing.T) {
	r := rand.New(runseed.PCG(t, 1, 2))
	for range 200 {
		h := histogram{}
		for range 1 + r.IntN(6) {
			h[1+r.Uint64N(40)] += 1 + r.Uint64N(1000)
		}
		kept := func(bound uint64) bool {
			var part, all float64
			for n, records := range h {
				part, all = part+float64(records)*math.Min(1, float64(bound)/float64(n)), all+float64(records)
			}
			return part >= 0.95*all
		}
		want := uint64(1)
		for !kept(want) {
			want++
		}
		if got := h.keeps(0.95); got != want {
			t.Fatalf("%v: %d, want %d", h, got, want)
		}
	}
	if got := (histogram{}).keeps(0.95); got != 1 {
		t.Errorf("of nothing: %d", got)
	}
}

// Figures by hand, with records out of order within the lateness, and one that is late.
func TestCellsOfASmallStream(t *testing.T) {
	c := newCells(time.Minute, 10*time.Second, trial{bounds{9, 2, 9}, limits{4, 1}}, []trial{{bounds{1, 1, 9}, limits{4, 1}}, {bounds{1, 2, 9}, limits{4, 1}}, {bounds{2, 9, 9}, limits{4, 1}}, {bounds{2, 9, 0}, limits{4, 1}}})
	for _, e := range []struct {
		at        int64
		user, key uint32
	}{
		{0, 0, 0}, {1000, 0, 0}, {1000, 0, 0}, {2000, 0, 1}, {3000, 1, 0}, // window 0: key 0 has 2 + 1, key 1 has 1
		{65_000, 1, 0}, {59_000, 2, 0}, // window 0 is open until 70 s: key 0 has 2 + 1 + 1
		{71_000, 1, 0}, {58_000, 3, 0}, // late
	} {
		c.add(e.at, cell{e.user, e.key})
	}
	c.finish()
	if c.counts != 3 || c.below != 2 || c.belowOf != 1+2 || c.largest != 4 || c.behind != 3 {
		t.Errorf("%d counts, %d below with %d records; the largest is %v of %d users", c.counts, c.below, c.belowOf, c.largest, c.behind)
	}
	// key 0 of window 0: user 0, of two keys, has 3 events, two others have one each
	for i, want := range []outcome{
		{2.5, math.Log(below(2.5, 0.25) * below(0.5, 0.25) * below(1, 0))}, // which of two keys of a user stays is left to chance
		{3, math.Log(below(3, 1) * below(0.5, 0.25) * below(2, 0))},
		{5, math.Log(below(5, 0) * below(1, 0) * below(2, 0))},
		{5, 3 * math.Log(below(0, 0))}, // no one can pay
	} {
		if got := c.outcomes[i]; got.largest != want.largest || math.Abs(got.nothing-want.nothing) > 1e-9 {
			t.Errorf("trial %d: %v, want %v", i, got, want)
		}
	}
	if got := c.median(); got != 3 {
		t.Errorf("a median of %d users", got)
	}
	for name, h := range map[string]struct{ got, want histogram }{
		"by events":  {c.byEvents, histogram{3: 3, 1: 3, 2: 2}},
		"by keys":    {c.byKeys, histogram{2: 4, 1: 4}},
		"by windows": {c.byWindows(), histogram{1: 5, 2: 3}},
	} {
		for n, records := range h.want {
			if h.got[n] != records || len(h.got) != len(h.want) {
				t.Errorf("%s: %v, want %v", name, h.got, h.want)
				break
			}
		}
	}
}

// below returns the chance that a count of a mean and a variance stays below 4 with noise of σ = 1.
func below(mean, variance float64) float64 {
	return math.Erfc((mean-4)/math.Sqrt(1+variance)/math.Sqrt2) / 2
}
