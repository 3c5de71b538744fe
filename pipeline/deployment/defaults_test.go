package deployment

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/schemas"
)

// Snapshots carry the slices of open windows: with long windows they are rarer.
func TestLongWindowsGetMoreLedgerSlots(t *testing.T) {
	for _, c := range []struct {
		sizes, slides []time.Duration
		want          int
	}{
		{[]time.Duration{time.Minute}, []time.Duration{0}, 64},
		{[]time.Duration{24 * time.Hour}, []time.Duration{0}, 64},
		{[]time.Duration{24 * time.Hour, time.Minute}, []time.Duration{0, 0}, 360},
		{[]time.Duration{time.Hour}, []time.Duration{time.Minute}, 64},
		{[]time.Duration{30 * 24 * time.Hour, time.Minute}, []time.Duration{0, 0}, 1024},
	} {
		cfg := Config{}
		for i := range c.sizes {
			cfg.Metrics = append(cfg.Metrics, Metric{Window: c.sizes[i], Slide: c.slides[i]})
		}
		if got := cfg.withDefaults().LedgerSlots; got != c.want {
			t.Errorf("windows of %v: %d slots, want %d", c.sizes, got, c.want)
		}
		cfg.LedgerSlots = 10
		if got := cfg.withDefaults().LedgerSlots; got != 10 {
			t.Errorf("10 slots became %d", got)
		}
	}
}

func TestPeriodsInAWindowAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slide := rapid.Int64Range(1, 12).Draw(t, "slide")
		m := schemas.MetricSpec{WindowSlide: slide, WindowSize: slide * rapid.Int64Range(1, 6).Draw(t, "slides")}
		period := rapid.Int64Range(1, 40).Draw(t, "period")
		d := Deployment{Config: Config{Privacy: Privacy{Period: time.Duration(period) * time.Millisecond}}}
		most := 0
		for begin := int64(0); begin < slide*period; begin += slide {
			last := begin + m.WindowSize - 1
			most = max(most, int(last/period-begin/period)+1)
		}
		if got := periodsInAWindowOf(&d, &m); got != most {
			t.Fatalf("windows of %d every %d reach into %d periods of %d, want %d", m.WindowSize, slide, got, period,
				most)
		}
	})
}
