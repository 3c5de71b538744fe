package eventfile

import (
	"fmt"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// mostTried is the number of records that are tried in every unit. Later records are tried only in
// the units that fit at least one of the first records.
const mostTried = 1000

// Nearly all events are later than usualFrom, and nearly all dates are later than datesFrom. A time
// in seconds with at least nine digits is not before secondsFrom. All three are in Unix
// milliseconds.
var (
	usualFrom   = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	datesFrom   = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	secondsFrom = int64(1e11)
)

// Reading is a unit, other than the one of the format, that may fit the times of a file.
type Reading struct {
	unit        string
	from        int64 // earliest plausible time
	decoder     *event.Decoder
	reads       uint64 // number of odd or unreadable times that are plausible in this unit
	first, last int64  // range of those times
}

// readings returns the other units that a format could have. More specific units come first: if two
// units fit equally many times, the first of them is right. readings returns nil for a format with
// a time layout, because a layout cannot be combined with a unit.
func readings(format event.Format) (all []*Reading) {
	if format.TimeLayout != "" {
		return nil
	}
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
		f.TimeUnit = unit
		var err error
		if r.decoder, err = event.NewDecoder(f); err == nil {
			all = append(all, r)
		}
	}
	return all
}

// Text reports whether the times are text and not numbers.
func (r *Reading) Text() bool { return r.unit == event.TimeText }

// String returns the unit, and the range of dates to which it leads.
func (r *Reading) String() string {
	return fmt.Sprintf("%s (%s to %s)", r.unit, Date(r.first), Date(r.last))
}

// Date formats the day of a time.
func Date(millis int64) string { return time.UnixMilli(millis).UTC().Format(time.DateOnly) }

// Times counts the times of a file that are unusual for events, and finds units that fit better.
type Times struct {
	Events      uint64 // records with a time
	First, Last int64  // range of the times
	Early       uint64 // times before 1990
	Ahead       uint64 // times in the future

	UsualFirst, UsualLast int64 // range of the times that are neither early nor in the future

	format event.Format
	now    int64      // later times are in the future
	odd    fault      // records with an early time, or with a time in the future
	others []*Reading // units other than the one of the format
	tried  uint64     // number of records that were tried in other units
}

// add notes the time of an event.
func (t *Times) add(millis int64, r Record) {
	extendRange(t.Events, &t.First, &t.Last, millis)
	t.Events++
	switch {
	case millis < usualFrom:
		t.Early++
	case millis > t.now:
		t.Ahead++
	default:
		extendRange(t.Usual()-1, &t.UsualFirst, &t.UsualLast, millis)
		return
	}
	t.odd.add(r, t.format)
	t.try(r.Value, usualFrom)
}

// extendRange extends the range of n times by one more time.
func extendRange(n uint64, first, last *int64, millis int64) {
	if n == 0 {
		*first, *last = millis, millis
	}
	*first, *last = min(*first, millis), max(*last, millis)
}

// Usual returns the number of times that are neither early nor in the future.
func (t *Times) Usual() uint64 { return t.Events - t.Early - t.Ahead }

// try decodes a record in the other units. Times before from do not count.
func (t *Times) try(record []byte, from int64) {
	if t.tried == 0 {
		t.others = readings(t.format)
	}
	t.tried++
	var e event.Event
	for _, r := range t.others {
		if r.decoder.Decode(record, &e) == nil && e.Millis >= max(r.from, from) && e.Millis <= t.now {
			extendRange(r.reads, &r.first, &r.last, e.Millis)
			r.reads++
		}
	}
	if t.tried == mostTried {
		t.others = slices.DeleteFunc(t.others, func(r *Reading) bool { return r.reads == 0 })
	}
}

// Reading returns the unit that fits most of the odd and unreadable times, or nil if no unit fits
// at least half of them.
func (t *Times) Reading() (best *Reading) {
	for _, r := range t.others {
		if 2*r.reads >= t.tried && (best == nil || r.reads > best.reads) {
			best = r
		}
	}
	return best
}
