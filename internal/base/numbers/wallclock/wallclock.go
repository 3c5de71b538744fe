package wallclock

import (
	"errors"
	"sync/atomic"
	"time"
	_ "time/tzdata" // for machines without a database of zones
)

// Load returns the location of the named zone, or nil for UTC, which is also the zone of an empty
// name. It rejects Local, which differs from machine to machine. Its errors are whole sentences.
func Load(name string) (*time.Location, error) {
	switch name {
	case "", "UTC", "Etc/UTC":
		return nil, nil
	case "Local":
		return nil,
			errors.New("it must be the name of a zone, like Europe/Zurich: Local is another one on every machine")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errors.New("it must be the name of a zone, like UTC, Europe/Zurich or America/New_York")
	}
	return zone, nil
}

// Clock is the clock of a zone. A nil Clock shows UTC: its readings are the times. Safe for
// concurrent use.
type Clock struct {
	zone *time.Location
	last atomic.Pointer[stretch] // the most recently used stretch: times mostly arrive in order
}

// String returns the name of the zone.
func (c *Clock) String() string {
	if c == nil {
		return "UTC"
	}
	return c.zone.String()
}

// Of returns the clock of a zone that Load accepts; nil for UTC.
func Of(name string) *Clock {
	zone, err := Load(name)
	if err != nil || zone == nil {
		return nil
	}
	return &Clock{zone: zone}
}

// stretch is a period without a change of the zone's clock: from begin to before end.
type stretch struct {
	begin, end int64
	offset     int64 // offset of the zone's clock from UTC
	floor      int64 // the greatest reading before begin
}

// Readings and times stay this far within the range of their type.
const (
	most  = 1 << 60
	never = -most
	ever  = most
	// A clock that is set back has caught up after less than this; zones have been set back by a
	// day at most (Alaska in 1867, Manila in 1844, Kwajalein in 1969).
	catchUp = 2 * day
	day     = 24 * 60 * 60 * 1000
)

// Reading returns the clock's reading at a time. It does not decrease in time.
func (c *Clock) Reading(millis int64) int64 {
	if c == nil {
		return millis
	}
	s := c.stretchOf(millis)
	return max(s.floor, millis+s.offset)
}

// Time returns the first time at which the clock shows the reading or a later one; for a reading
// that it skips, the time of the jump.
func (c *Clock) Time(reading int64) int64 {
	if c == nil {
		return reading
	}
	// Offsets are below a day and a half, and so is the lag of a clock that was set back.
	s := c.stretchOf(reading - catchUp)
	for s.end < ever && max(s.floor, s.end-1+s.offset) < reading {
		s = c.stretchOf(s.end)
	}
	return max(s.begin, reading-s.offset)
}

// Begins returns the clock's reading at a time or, if the clock jumps then, the first skipped
// reading. So Begins(Time(r)) is r unless the clock skips r and the reading before it.
func (c *Clock) Begins(millis int64) int64 {
	if c == nil {
		return millis
	}
	return min(c.Reading(millis-1)+1, c.Reading(millis))
}

// Truncate returns the start of the window of a size that contains a time: windows begin at
// multiples of the size, which must be above 0.
func (c *Clock) Truncate(millis, size int64) int64 {
	reading := c.Reading(millis)
	return c.Time(reading - (reading%size+size)%size)
}

func (c *Clock) stretchOf(millis int64) *stretch {
	if s := c.last.Load(); s != nil && s.begin <= millis && millis < s.end {
		return s
	}
	s := c.find(millis)
	c.last.Store(s)
	return s
}

// find computes the stretch that contains a time.
func (c *Clock) find(millis int64) *stretch {
	local := time.UnixMilli(millis).In(c.zone)
	_, seconds := local.Zone()
	s := &stretch{begin: never, end: ever, offset: int64(seconds) * 1000, floor: never}
	begin, end := local.ZoneBounds()
	switch {
	case end.IsZero():
	case end.UnixMilli() > millis:
		s.end = end.UnixMilli()
	default: // Go 1.26 ends the years of a zone's rule after 365 days, even leap years
		s.end = millis - (millis%day+day)%day + day
	}
	if !begin.IsZero() {
		s.begin = begin.UnixMilli()
		s.floor = c.greatestBefore(s.begin)
	}
	return s
}

// greatestBefore returns the greatest reading before a time at which the zone's clock is set.
func (c *Clock) greatestBefore(millis int64) int64 {
	greatest := int64(never)
	for instant := millis; instant > millis-catchUp; {
		local := time.UnixMilli(instant - 1).In(c.zone)
		_, seconds := local.Zone()
		greatest = max(greatest, instant-1+int64(seconds)*1000)
		begin, _ := local.ZoneBounds()
		if begin.IsZero() {
			break
		}
		instant = begin.UnixMilli()
	}
	return greatest
}
