package plan

import (
	"math"
	"testing"
	"time"
)

func TestLastsIsFromTheFirstWindowToTheEndOfTheLast(t *testing.T) {
	const hour = time.Hour
	for _, tc := range []struct {
		windows             uint64
		size, slide, period time.Duration
		want                string
	}{
		{0, hour, hour, 0, "no window"},
		{24, hour, hour, 0, "1d"},
		{3, 2 * hour, hour, 0, "4h"},
		{24, hour, hour, 24 * hour, "every period anew"},
		{math.MaxUint64, hour, hour, 0, "more than 140 years"},
	} {
		if got := lasts(tc.windows, tc.size, tc.slide, tc.period); got != tc.want {
			t.Errorf("%d windows of %v every %v: %q, want %q", tc.windows, tc.size, tc.slide, got, tc.want)
		}
	}
}
