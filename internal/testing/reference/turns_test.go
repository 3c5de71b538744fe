package reference

import (
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
)

// sliding returns a metric that has windows and nothing else.
func sliding(size, slide int64) schemas.MetricSpec {
	return schemas.MetricSpec{WindowSize: size, WindowSlide: slide}
}

func TestWindowStartsLieOnMultiplesOfTheSlideSinceTheEpoch(t *testing.T) {
	c := Config{Start: -1000}
	for _, k := range []struct {
		millis, size, slide int64
		starts              []int64
	}{
		{0, 10, 10, []int64{0}},
		{9, 10, 10, []int64{0}},
		{10, 10, 10, []int64{10}},
		{-1, 10, 10, []int64{-10}},
		{-10, 10, 10, []int64{-10}},
		{-11, 10, 10, []int64{-20}},
		{25, 30, 10, []int64{0, 10, 20}},
		{30, 30, 10, []int64{10, 20, 30}},
		{-1, 20, 10, []int64{-20, -10}},
	} {
		var starts []int64
		for _, w := range c.windowsOf(sliding(k.size, k.slide), k.millis) {
			starts = append(starts, w.start)
			if w.end-w.start != k.size || k.millis < w.start || k.millis >= w.end {
				t.Errorf("%d lies in window %v of size %d", k.millis, w, k.size)
			}
		}
		if !slices.Equal(starts, k.starts) {
			t.Errorf("windows of %d by %d/%d start at %v, want %v", k.millis, k.size, k.slide, starts, k.starts)
		}
	}
}

func TestWindowsThatBeganBeforeTheStartAreNone(t *testing.T) {
	c, m := Config{Start: 20}, sliding(30, 10)
	if got := c.windowsOf(m, 25); !slices.Equal(got, []window{{20, 50}}) {
		t.Errorf("an event at 25 lies in %v, want the one window that began at the start", got)
	}
	for end, want := range map[int64]bool{30: false, 40: false, 45: false, 50: true, 55: false, 60: true} {
		if _, ends := c.windowEnding(m, end); ends != want {
			t.Errorf("that a window ends at %d is %v", end, ends)
		}
	}
}

func TestTurnsEndAtAllMultiplesOfAllSlides(t *testing.T) {
	c := Config{Start: 60, Metrics: []schemas.MetricSpec{sliding(100, 20), sliding(30, 30)}}
	want := []int64{80, 90, 100, 120, 140, 150}
	if got := c.TurnEnds(6); !slices.Equal(got, want) {
		t.Errorf("turn ends are %v, want %v", got, want)
	}
	for millis, turns := range map[int64]uint64{79: 0, 80: 1, 99: 2, 120: 4, 149: 5} {
		if got := c.TurnsUntil(millis); got != turns {
			t.Errorf("%d turns end at or before %d, want %d", got, millis, turns)
		}
	}
	for millis, turn := range map[int64]uint64{60: 1, 79: 1, 80: 2, 89: 2, 90: 3, 119: 4, 149: 6} {
		if got, ok := turnOf(millis, want); !ok || got != turn {
			t.Errorf("an event at %d falls into turn %d (%v), want %d", millis, got, ok, turn)
		}
	}
	if _, ok := turnOf(150, want); ok {
		t.Error("an event after the last turn falls into a closed turn")
	}
}

func TestPeriodsLieOnMultiplesSinceTheEpoch(t *testing.T) {
	for millis, want := range map[int64]int64{0: 0, 99: 0, 100: 1, -1: -1, -100: -1, -101: -2} {
		if got := (Config{Period: 100}).periodOf(millis); got != want {
			t.Errorf("%d lies in period %d, want %d", millis, got, want)
		}
	}
	if got := (Config{}).periodOf(1 << 40); got != 0 {
		t.Errorf("without a period a time lies in period %d", got)
	}
}

func TestAPeriodIsOverWhenItsLastWindowHasEnded(t *testing.T) {
	c := Config{Period: 100, Metrics: []schemas.MetricSpec{sliding(30, 10), sliding(70, 70)}}
	// The last windows with a time of [100, 200) are [190, 220) and [140, 210).
	for now, want := range map[int64]bool{200: false, 210: false, 219: false, 220: true} {
		if got := c.PeriodIsOver(1, now); got != want {
			t.Errorf("at %d the period is over: %v", now, got)
		}
	}
	c.Period = 0
	if c.PeriodIsOver(0, 1<<60) {
		t.Error("a period for ever is over")
	}
}
