package calendar

import (
	"math"

	"github.com/tollgate-dp/tollgate/schemas"
)

// LeastPeriod implements spend.Windows. It returns the first budget period that overlaps a window
// that ends after a turn. With one budget for life, it returns math.MinInt64.
func (t *Turns) LeastPeriod(turn uint64) int64 {
	if t.period == 0 {
		return math.MinInt64
	}
	return floorDivide(t.end(t.Needed(turn)-1), t.period)
}

// Elapsed implements spend.Windows. It returns the time from the start of the budget period to the
// end of the window. With one budget for life, the period starts at reading 0: one record can
// decide the start of the deployment.
func (t *Turns) Elapsed(w schemas.MetricWindow, period int64) int64 {
	return w.WindowEnd - period*t.period
}

// PeriodEnds reports whether a budget period ends with a turn: no window up to this turn contains
// an event of a later period, and no window that begins afterwards contains an earlier one.
func (t *Turns) PeriodEnds(turn uint64) bool {
	end := t.end(turn)
	return t.period > 0 && Align(end, t.period) == end
}

// NextPeriod returns the first time after the end of a turn at which both a turn and a budget
// period end. It returns Forever if there is none within a hundred years.
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

// PeriodOf returns the number of the budget period that contains a time. Period 0 begins at reading
// 0, and earlier periods have negative numbers. With one budget for life, it returns 0.
func (t *Turns) PeriodOf(millis int64) int64 {
	if t.period == 0 {
		return 0
	}
	return floorDivide(t.clock.Reading(millis), t.period)
}
