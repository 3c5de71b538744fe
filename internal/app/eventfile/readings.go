package eventfile

import (
	"fmt"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// mostTried is how many records are tried in every other unit. Those that follow are
// tried in the units that have read one.
const mostTried = 1000

// Events are usually not older than usualFrom; dates may be. No time in seconds with nine digits or
// more is before secondsFrom.
var (
	usualFrom   = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	datesFrom   = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	secondsFrom = int64(1e11)
)

// Reading is another unit in which times can be read.
type Reading struct {
	unit        string
	from        int64 // times before it show that the unit is wrong
	decoder     *event.Decoder
	reads       uint64 // unusual or unreadable times that become usual ones
	first, last int64  // of these
}

// readings returns the other units of a format, the more specific ones first: of two that read as
// many times, the first is right.
func readings(format event.Format) (all []*Reading) {
	for _, unit := range append([]string{event.TimeText}, event.TimeUnits()...) {
		f, r := format, &Reading{unit: unit, from: usualFrom}
		switch unit {
		case "s":
			r.from = secondsFrom
		case event.TimeText:
			r.from = datesFrom
		}
		if slices.ContainsFunc(all, func(r *Reading) bool { return r.unit == unit }) || unit == format.TimeUnit ||
			unit == "rfc3339" {
			continue
		}
		f.TimeUnit, f.TimeLayout = unit, ""
		var err error
		if r.decoder, err = event.NewDecoder(f); err == nil {
			all = append(all, r)
		}
	}
	return all
}

// Text reports whether the times are texts, and not numbers of a unit.
func (r *Reading) Text() bool { return r.unit == event.TimeText }

// String names the flag, and the dates that it gives.
func (r *Reading) String() string {
	return fmt.Sprintf("--time-unit %s (%s to %s)", r.unit, Date(r.first), Date(r.last))
}

// Date writes the day of a time.
func Date(millis int64) string { return time.UnixMilli(millis).UTC().Format(time.DateOnly) }

// Times counts the times of a file that are not what events usually have, and how else they could
// be read.
type Times struct {
	Events      uint64 // records that have a time
	First, Last int64  // of these
	Early       uint64 // of these, before 1990
	Ahead       uint64 // ahead of now
	// UsualFirst and UsualLast are the first and the last time of the others.
	UsualFirst, UsualLast int64

	format event.Format
	now    int64
	odd    fault // the early ones and those ahead
	others []*Reading
	tried  uint64
}

// add notes the time of an event.
func (t *Times) add(millis int64, r Record) {
	within(t.Events, &t.First, &t.Last, millis)
	t.Events++
	switch {
	case millis < usualFrom:
		t.Early++
	case millis > t.now:
		t.Ahead++
	default:
		within(t.Usual()-1, &t.UsualFirst, &t.UsualLast, millis)
		return
	}
	t.odd.add(r, t.format)
	t.try(r.Value, usualFrom)
}

// within widens a range of n times by one more.
func within(n uint64, first, last *int64, millis int64) {
	if n == 0 {
		*first, *last = millis, millis
	}
	*first, *last = min(*first, millis), max(*last, millis)
}

// Usual returns how many events are neither early nor ahead of now.
func (t *Times) Usual() uint64 { return t.Events - t.Early - t.Ahead }

// try reads a record in other ways. A date that could not be read may be before 1990.
func (t *Times) try(record []byte, dates int64) {
	if t.tried == 0 {
		t.others = readings(t.format)
	}
	t.tried++
	var e event.Event
	for _, r := range t.others {
		if r.decoder.Decode(record, &e) == nil && e.Millis >= max(r.from, dates) && e.Millis <= t.now {
			within(r.reads, &r.first, &r.last, e.Millis)
			r.reads++
		}
	}
	if t.tried == mostTried {
		t.others = slices.DeleteFunc(t.others, func(r *Reading) bool { return r.reads == 0 })
	}
}

// Reading returns the unit that reads the most of the records whose times are odd or cannot be
// read; nil if none reads at least half of these.
func (t *Times) Reading() (best *Reading) {
	for _, r := range t.others {
		if 2*r.reads >= t.tried && (best == nil || r.reads > best.reads) {
			best = r
		}
	}
	return best
}
