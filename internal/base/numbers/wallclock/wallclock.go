package wallclock

import (
	"errors"
	"sync/atomic"
	"time"
	_ "time/tzdata" // for machines without a database of zones
)

// Load returns the location of a zone, or nil for UTC and for an empty name. It rejects Local,
// which differs from machine to machine. Its errors are complete sentences.
func Load(name string) (*time.Location, error) {
	switch name {
	case "", "UTC", "Etc/UTC":
		return nil, nil
	case "Local":
		return nil,
			errors.New("it must be the name of a zone, like Europe/Zurich: Local differs from machine to machine")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errors.New("it must be the name of a zone, like UTC, Europe/Zurich or America/New_York")
	}
	return zone, nil
}

// Clock is the clock of a zone. A nil Clock shows UTC: its readings are the times. A Clock is safe
// for concurrent use.
type Clock struct {
	zone *time.Location
	last atomic.Pointer[stretch] // the stretch used last, because times mostly arrive in order
}

// String returns the name of the zone.
func (c *Clock) String() string {
	if c == nil {
		return "UTC"
	}
	return c.zone.String()
}

// Of returns the clock of a zone that Load accepts, or nil for UTC.
func Of(name string) *Clock {
	zone, err := Load(name)
	if err != nil || zone == nil {
		return nil
	}
	return &Clock{zone: zone}
}

// stretch is a period in which the zone's clock is not set: from begin to just before end.
type stretch struct {
	begin, end int64
	offset     int64 // offset of the zone's clock from UTC
	floor      int64 // the greatest reading before begin
}

// Readings and times stay within these limits, far from the limits of int64.
const (
	limit  = 1 << 60
	never  = -limit
	always = limit
	// A clock that is set back has caught up after less than this. Zones have been set back by a
	// day at most (Alaska in 1867, Manila in 1844, Kwajalein in 1969).
	catchUp = 2 * day
	day     = 24 * 60 * 60 * 1000
)

// Reading returns the clock's reading at a time. It does not decrease as time passes.
func (c *Clock) Reading(millis int64) int64 {
	if c == nil {
		return millis
	}
	s := c.stretchOf(millis)
	return max(s.floor, millis+s.offset)
}

// Time returns the first time at which the clock shows the reading or a later one. For a reading
// that the clock skips, this is the time of the jump.
func (c *Clock) Time(reading int64) int64 {
	if c == nil {
		return reading
	}
	// Offsets are below a day and a half, and so is the delay of a clock that was set back.
	s := c.stretchOf(reading - catchUp)
	for s.end < always && max(s.floor, s.end-1+s.offset) < reading {
		s = c.stretchOf(s.end)
	}
	return max(s.begin, reading-s.offset)
}

// Begins returns the clock's reading at a time or, if the clock jumps at that time, the first
// skipped reading. So Begins(Time(r)) is r unless the clock skips r and the reading before it.
func (c *Clock) Begins(millis int64) int64 {
	if c == nil {
		return millis
	}
	return min(c.Reading(millis-1)+1, c.Reading(millis))
}

// Truncate returns the time at which the window that contains a time starts. Windows begin at the
// multiples of size, which must be above 0.
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
	s := &stretch{begin: never, end: always, offset: int64(seconds) * 1000, floor: never}
	begin, end := local.ZoneBounds()
	switch {
	case end.IsZero():
	case end.UnixMilli() > millis:
		s.end = end.UnixMilli()
	default: // by a zone's rule, Go 1.26 ends every year after 365 days, even a leap year
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
