package commands

import (
	"errors"
	"fmt"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// keyMode is the value of --keys; "" until it is given.
type keyMode string

const (
	keysPublic  keyMode = "public"
	keysPrivate keyMode = "private"
)

// timeLayout and timeZone are the values of --time-layout and --time-zone.
type (
	timeLayout string
	timeZone   string
)

func (v *timeLayout) String() string { return string(*v) }
func (v *timeLayout) Type() string   { return "layout" }

func (v *timeLayout) Set(text string) error {
	*v = timeLayout(text)
	return event.CheckLayout(text) //nolint:wrapcheck // a whole sentence
}

func (v *timeZone) String() string { return string(*v) }
func (v *timeZone) Type() string   { return "zone" }

func (v *timeZone) Set(text string) error {
	*v = timeZone(text)
	return event.CheckZone(text) //nolint:wrapcheck // a whole sentence
}

// timeValue is a point in time; zero until it is given.
type timeValue struct {
	time.Time
	offset bool // the text said its offset from UTC
	local  bool // it is what a clock in the time zone shows, as if it showed UTC
}

// in turns the time into what the clock of a zone shows; a text without an offset is that already.
func (v *timeValue) in(zone string) {
	clock := wallclock.Of(zone)
	if v.IsZero() || clock == nil || v.local {
		return
	}
	if v.local = true; v.offset {
		v.Time = time.UnixMilli(clock.Reading(v.UnixMilli())).UTC()
	}
}

// moment returns the given time. A time without an offset is local time in the zone.
func (v *timeValue) moment(zone string) time.Time {
	if v.offset && !v.local {
		return v.Time
	}
	if v.in(zone); v.local {
		return time.UnixMilli(wallclock.Of(zone).Time(v.UnixMilli())).UTC()
	}
	return v.Time
}

// localTime is how times without an offset are written.
const localTime = "2006-01-02T15:04:05"

func (v *timeValue) String() string {
	if v.IsZero() {
		return ""
	}
	if v.local {
		return v.Format(localTime)
	}
	return v.Format(time.RFC3339)
}

func (v *timeValue) Type() string { return "time" }

// runValue is the value of a flag for the name of an earlier run; zero if the flag is not given.
type runValue struct{ demo.RunID }

func (v *runValue) String() string {
	if v.RunID == (demo.RunID{}) {
		return ""
	}
	return v.RunID.String()
}

func (v *runValue) Type() string { return "name" }

func (v *runValue) Set(text string) (err error) {
	v.RunID, err = demo.ParseRunID(text)
	return err //nolint:wrapcheck // a whole sentence
}

// errBefore1970 also refuses the zero time, which means that a flag was not given.
var errBefore1970 = errors.New("it must not be before 1970")

func (v *timeValue) Set(text string) error {
	for _, layout := range []string{time.RFC3339, time.DateOnly, localTime} {
		if t, err := time.Parse(layout, text); err == nil {
			if t.Before(time.UnixMilli(0)) {
				return errBefore1970
			}
			v.Time, v.offset, v.local = t.UTC(), layout == time.RFC3339, false
			return nil
		}
	}
	return errors.New("it must be a time like 2025-03-03T00:00:00Z or a day like 2025-03-03")
}

// parseMoment parses a time for a flag that also accepts words.
func parseMoment(text, words string) (timeValue, error) {
	var at timeValue
	err := at.Set(text)
	if err != nil && !errors.Is(err, errBefore1970) {
		err = fmt.Errorf("it must be %s or a time like 2026-01-01T00:00:00Z", words)
	}
	return at, err
}
