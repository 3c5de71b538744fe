package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
)

// TimeValue is a point in time; zero until it is given.
type TimeValue struct {
	time.Time
	Offset bool // the text said its offset from UTC
	Local  bool // it is what a clock in the time zone shows, as if it showed UTC
}

// In turns the time into what the clock of a zone shows; a text without an offset is that already.
func (v *TimeValue) In(zone string) {
	clock := wallclock.Of(zone)
	if v.IsZero() || clock == nil || v.Local {
		return
	}
	if v.Local = true; v.Offset {
		v.Time = time.UnixMilli(clock.Reading(v.UnixMilli())).UTC()
	}
}

// Moment returns the given time. A time without an offset is local time in the zone.
func (v *TimeValue) Moment(zone string) time.Time {
	if v.Offset && !v.Local {
		return v.Time
	}
	if v.In(zone); v.Local {
		return time.UnixMilli(wallclock.Of(zone).Time(v.UnixMilli())).UTC()
	}
	return v.Time
}

// localTime is how times without an offset are written.
const localTime = "2006-01-02T15:04:05"

func (v *TimeValue) String() string {
	if v.IsZero() {
		return ""
	}
	if v.Local {
		return v.Format(localTime)
	}
	return v.Format(time.RFC3339)
}

func (v *TimeValue) Type() string { return "time" }

// errBefore1970 also refuses the zero time, which means that a flag was not given.
var errBefore1970 = errors.New("it must not be before 1970")

func (v *TimeValue) Set(text string) error {
	for _, layout := range []string{time.RFC3339, time.DateOnly, localTime} {
		if t, err := time.Parse(layout, text); err == nil {
			if t.Before(time.UnixMilli(0)) {
				return errBefore1970
			}
			v.Time, v.Offset, v.Local = t.UTC(), layout == time.RFC3339, false
			return nil
		}
	}
	return errors.New("it must be a time like 2025-03-03T00:00:00Z or a day like 2025-03-03")
}

// ParseMoment parses a time for a flag that also accepts words.
func ParseMoment(text, words string) (TimeValue, error) {
	var at TimeValue
	err := at.Set(text)
	if err != nil && !errors.Is(err, errBefore1970) {
		err = fmt.Errorf("it must be %s or a time like 2026-01-01T00:00:00Z", words)
	}
	return at, err
}
