package calendar

import (
	"math"

	"github.com/tollgate-dp/tollgate/schemas"
)

// LeastPeriod implements spend.Windows: it returns the earliest budget period that overlaps a
// window ending after a turn; math.MinInt64 with one budget for life.
func (t *Turns) LeastPeriod(turn uint64) int64 {
	if t.period == 0 {
		return math.MinInt64
	}
	return floorDivide(t.end(t.Needed(turn)-1), t.period)
}

// Elapsed implements spend.Windows: it counts from the start of the budget period or, with one
// budget for life, from reading 0, because one record can decide the start of the deployment.
func (t *Turns) Elapsed(w schemas.MetricWindow, period int64) int64 {
	return w.WindowEnd - period*t.period
}

// PeriodEnds reports whether a budget period ends with a turn: no window up to this turn contains
// an event of a later period, and no window that begins afterwards contains one of an earlier
// period.
func (t *Turns) PeriodEnds(turn uint64) bool {
	end := t.end(turn)
	return t.period > 0 && Align(end, t.period) == end
}

// NextPeriod returns the first time after the end of a turn when both a turn and a budget period
// end; Forever if there is none within a hundred years.
func (t *Turns) NextPeriod(turn uint64) int64 {
	end, next := t.end(turn), int64(Forever)
	for _, m := range t.metrics {
		if m.size == 0 {
			continue
		}
		if every := lcm(t.period, m.slide); every <= farthest {
			next = min(next, Align(end, every)+every)
		}
	}
	if next == Forever {
		return next
	}
	return t.clock.Time(next)
}

// PeriodOf returns the number of the budget period that contains a time, counted from reading 0,
// before which numbers are negative; 0 with one budget for life.
func (t *Turns) PeriodOf(millis int64) int64 {
	if t.period == 0 {
		return 0
	}
	return floorDivide(t.clock.Reading(millis), t.period)
}
