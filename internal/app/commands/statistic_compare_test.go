package commands

import (
	"strings"
	"testing"
)

// Edges in another unit than the values are named: then most values are outside of them, or in one
// bucket.
func TestValuesOutsideTheRangeAreNamed(t *testing.T) {
	for _, c := range []struct {
		values []int64
		want   string
	}{
		{[]int64{1400, 1700, 30}, "2 of 3 values (67 %) are outside the range from 0 to 40"},
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
