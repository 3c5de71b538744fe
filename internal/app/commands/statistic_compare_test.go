package commands

import (
	"math"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// The value of a quantile is compared, too: if its rank is off by 10 points, the value can be off
// by 1 %, or by more than the real value itself.
func TestQuantilesAreComparedAsValues(t *testing.T) {
	flags := &demoFlags{}
	flags.max = 1000
	for _, c := range []struct {
		values   []int64
		rank     int64
		v        float64
		off      float64
		rankOff  float64
		whatItIs string
	}{
		{[]int64{100, 200, 300, 400}, metrickind.RankUnit / 2, 202, 0.01, 0, "the median"},
		{[]int64{100, 200, 300, 400}, metrickind.RankUnit, 300, 0.25, 0.25, "the greatest value"},
		{[]int64{100, 200, 300, 400}, 0, 150, 0.5, 0.25, "the least value"},
		{[]int64{1, 1, 1, 900}, metrickind.RankUnit * 3 / 4, 6, 0.5, 0, "a quantile near 0, by a hundredth of the range"},
		{[]int64{-200, -200, 5}, metrickind.RankUnit / 2, -100, 0.5, 1.0 / 6, "a negative quantile"},
	} {
		spec := &schemas.MetricSpec{Kind: "quantile", Name: "events.q", Max: c.rank}
		of := comparisonsOf(spec, flags)
		if len(of) != 2 {
			t.Fatalf("%d comparisons, want the value and the rank", len(of))
		}
		if got := of[0].off(c.values, c.v, flags, spec); math.Abs(got-c.off) > 1e-9 {
			t.Errorf("%s: the value is off by %v, want %v", c.whatItIs, got, c.off)
		}
		if got := of[1].off(c.values, c.v, flags, spec); math.Abs(got-c.rankOff) > 1e-9 {
			t.Errorf("%s: the rank is off by %v, want %v", c.whatItIs, got, c.rankOff)
		}
	}
}

// Edges in another unit than the values are named: then most values are outside of them, or in one
// bucket.
func TestValuesOutsideTheRangeAreNamed(t *testing.T) {
	for _, c := range []struct {
		values []int64
		want   string
	}{
		{[]int64{1400, 1700, 30}, "2 of 3 values (67 %) are below 0 or above 40"},
		{[]int64{40, 39, 20, 38}, "4 of 4 values (100 %) are in one bucket, 20 or more"},
		{[]int64{0, 40, 20, 38}, ""},
		{nil, ""},
	} {
		flags := &demoFlags{}
		flags.kind = "histogram"
		values := spread{edges: []int64{0, 20, 40}, values: make([]uint64, 4)}
		for _, v := range c.values {
			values.add(v)
		}
		if got := values.text(flags); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}
