package calendar

import (
	"math"

	"github.com/tollgate-dp/tollgate/schemas"
)

// LeastPeriod implements spend.Windows: it returns the earliest budget period of a time in
// some window that ends after a turn; math.MinInt64 with one budget for life.
func (t *Turns) LeastPeriod(turn uint64) int64 {
	if t.period == 0 {
		return math.MinInt64
	}
	return floorDivide(t.end(t.Needed(turn)-1), t.period)
}

// Elapsed implements spend.Windows: it counts from the start of the budget period or, with one
// budget for life, from the reading 0. The start of the deployment would not do: one record can
// decide it.
func (t *Turns) Elapsed(w schemas.MetricWindow, period int64) int64 {
	return w.WindowEnd - period*t.period
}

// PeriodOf returns the number of the budget period of a time: periods are counted from the
// reading 0, those before it have negative numbers. 0 with one budget for life.
func (t *Turns) PeriodOf(millis int64) int64 {
	if t.period == 0 {
		return 0
	}
	return floorDivide(t.clock.Reading(millis), t.period)
}
