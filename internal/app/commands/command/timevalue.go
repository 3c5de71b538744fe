package command

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
)

// TimeValue is a point in time; zero until it is given.
type TimeValue struct {
	time.Time
	Offset bool // the text said its offset from UTC
	Local  bool // it is what a clock in the time zone shows, as if it showed UTC

	Words []string // that the flag also accepts; "now" is the moment at which the flag is read
	Word  string   // that was given
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
	switch {
	case v.Word != "" || v.IsZero():
		return v.Word
	case v.Local:
		return v.Format(localTime)
	}
	return v.Format(time.RFC3339)
}

func (v *TimeValue) Type() string { return strings.Join(append(slices.Clone(v.Words), "time"), "|") }

func (v *TimeValue) Set(text string) error {
	*v = TimeValue{Words: v.Words}
	if slices.Contains(v.Words, text) {
		if v.Word = text; text == "now" {
			v.Time, v.Offset = time.Now().UTC(), true
		}
		return nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly, localTime} {
		if t, err := time.Parse(layout, text); err == nil {
			if t.Before(time.UnixMilli(0)) { // the zero time is that of a flag that was not given
				return errors.New("it must not be before 1970")
			}
			v.Time, v.Offset = t.UTC(), layout == time.RFC3339
			return nil
		}
	}
	return errors.New("it must be " + strings.Join(append(slices.Clone(v.Words), "a time like 2025-03-03T00:00:00Z",
		"a day like 2025-03-03"), " or "))
}
