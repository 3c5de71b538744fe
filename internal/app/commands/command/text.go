package command

import (
	"fmt"
	"math"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

// Moment writes a time of the clock in UTC, to the second above; with the date where that is not
// today's.
func Moment(t, now time.Time) string {
	t, now = t.Add(time.Second-1).UTC().Truncate(time.Second), now.UTC()
	layout := "15:04:05Z"
	if t.YearDay() != now.YearDay() || t.Year() != now.Year() {
		layout = "2006-01-02 15:04:05Z"
	}
	return t.Format(layout)
}

func Ceiling(v float64) string { return terminal.Number(math.Ceil(v), 0) }

// Rounded writes a standard deviation to three digits.
func Rounded(v float64) string {
	if v >= 100 {
		return terminal.Number(v, 0)
	}
	return fmt.Sprintf("%.3g", v)
}
