package event

import (
	"bytes"
	"strings"
	"time"
)

// wallClock reads the parts of a time from a text.
type wallClock struct {
	b   []byte
	pos int

	year, month, day     int
	hour, minute, second int
	millis               int
	yearDay              int    // from 1; 0: a day of a month
	half                 byte   // 'a' or 'p' of am and pm; 0: an hour of 24
	zoned                bool   // the text has an offset from UTC
	offset               int    // seconds east
	named                []byte // short name of a zone, which may mean one of several offsets
	pivot                bool   // the year has two digits
}

// start begins to read a text, ignoring the white space around it.
func (c *wallClock) start(b []byte) {
	*c = wallClock{b: bytes.TrimSpace(b), month: 1, day: 1}
}

// readUsual reads a time in one of the layouts that programs usually write; no text is ambiguous
// among them. In a date of digits only, the day precedes the month only with dots, which no country
// that writes the month first uses.
func (c *wallClock) readUsual() bool {
	if n := len(c.b); n > 1 && c.b[0] == '[' && c.b[n-1] == ']' {
		c.b = c.b[1 : n-1]
	}
	switch n := digitsAt(c.b); {
	case n == 4 || n == 8 || n == 14:
		return c.iso()
	case n > 0 && n <= 2 && len(c.b) > n && c.b[n] == '/':
		return c.number(&c.day, 1, 2) && c.byte('/') && c.monthName() && c.byte('/') && c.number(&c.year, 4, 4) &&
			c.byte(':') && c.clock() && c.zoneAfterSpace()
	case n > 0 && n <= 2 && len(c.b) > n && c.b[n] == '.':
		return c.number(&c.day, 1, 2) && c.byte('.') && c.number(&c.month, 1, 2) && c.byte('.') && c.number(&c.year, 4,
			4) && c.timeOfDay()
	case n > 0:
		return c.mail()
	}
	// Dates of mail and of C's ctime begin with a weekday.
	if !c.name(weekdays[:], new(int)) {
		return false
	}
	if c.byte(',') {
		return c.spaces() && c.mail()
	}
	if !c.spaces() || !c.monthName() || !c.spaces() || !c.number(&c.day, 1, 2) || !c.spaces() {
		return false
	}
	if digitsAt(c.b[c.pos:]) == 4 { // JavaScript
		return c.number(&c.year, 4, 4) && c.spaces() && c.clock() && c.zoneAfterSpace()
	}
	return c.clock() && c.spaces() &&
		(c.number(&c.year, 4, 4) || c.zone() && c.spaces() && c.number(&c.year, 4, 4)) && c.end()
}

// iso reads 2025-03-03, 2025/03/03 or 20250303, with an optional time of day and offset.
func (c *wallClock) iso() bool {
	c.number(&c.year, 4, 4)
	separator := byte(0)
	if !c.end() && (c.b[c.pos] == '-' || c.b[c.pos] == '/') {
		separator = c.b[c.pos]
		c.pos++
	}
	least := 2
	if separator != 0 {
		least = 1
	}
	if !c.number(&c.month, least, 2) || separator != 0 && !c.byte(separator) || !c.number(&c.day, least, 2) {
		return false
	}
	if start := c.pos; separator == 0 && (c.byte('T') || !c.end()) && digitsAt(c.b[c.pos:]) == 6 { // 20250303T080731Z
		return c.number(&c.hour, 2, 2) && c.number(&c.minute, 2, 2) && c.number(&c.second, 2, 2) && (!c.byte('.') ||
			c.fraction()) && c.zoneAfterSpace()
	} else {
		c.pos = start
	}
	return c.timeOfDay()
}

// timeOfDay reads an optional time of day up to the end.
func (c *wallClock) timeOfDay() bool {
	return c.end() || (c.byte('T') || c.byte('t') || c.spaces()) && c.clock() && c.zoneAfterSpace()
}

// mail reads 03 Mar 2025 00:00:01 with an optional offset.
func (c *wallClock) mail() bool {
	return c.number(&c.day, 1, 2) && (c.byte('-') || c.spaces()) && c.monthName() && (c.byte('-') || c.spaces()) &&
		c.number(&c.year, 4, 4) &&
		(c.end() || c.spaces() && c.clock() && c.zoneAfterSpace())
}

// clock reads 00:00, 00:00:01 or 00:00:01.5.
func (c *wallClock) clock() bool {
	if !c.number(&c.hour, 1, 2) || !c.byte(':') || !c.number(&c.minute, 2, 2) {
		return false
	}
	if !c.byte(':') {
		return true
	}
	return c.number(&c.second, 2, 2) && (!c.byte('.') && !c.byte(',') || c.fraction())
}

// zoneAfterSpace reads an optional offset up to the end.
func (c *wallClock) zoneAfterSpace() bool {
	c.spaces()
	return c.end() || c.zone() && c.zoneName()
}

// zoneName skips the name that Go and JavaScript append to an offset: UTC or (Central European
// Time).
func (c *wallClock) zoneName() bool {
	if c.end() || !c.spaces() {
		return c.end()
	}
	name := c.b[c.pos:]
	c.pos = len(c.b)
	if name[0] == '(' {
		return name[len(name)-1] == ')'
	}
	return len(bytes.TrimLeft(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) == 0
}

func (c *wallClock) end() bool { return c.pos == len(c.b) }

func (c *wallClock) byte(want byte) bool {
	if c.end() || c.b[c.pos] != want {
		return false
	}
	c.pos++
	return true
}

// spaces reads one or more spaces.
func (c *wallClock) spaces() bool {
	from := c.pos
	for c.byte(' ') || c.byte('\t') || c.hardSpace() {
	}
	return c.pos > from
}

// hardSpace reads a non-breaking space, as Excel and JavaScript write it.
func (c *wallClock) hardSpace() bool {
	for _, space := range [...]string{"\u00a0", "\u202f"} {
		if bytes.HasPrefix(c.b[c.pos:], []byte(space)) {
			c.pos += len(space)
			return true
		}
	}
	return false
}

// number reads from least to most digits.
func (c *wallClock) number(to *int, least, most int) bool {
	n := min(digitsAt(c.b[c.pos:]), most)
	if n < least {
		return false
	}
	*to = 0
	for _, digit := range c.b[c.pos : c.pos+n] {
		*to = *to*10 + int(digit-'0')
	}
	c.pos += n
	return true
}

// fraction reads the digits of a fraction of a second, rounded down to milliseconds.
func (c *wallClock) fraction() bool {
	n := digitsAt(c.b[c.pos:])
	for i, unit := 0, 100; i < n; i, unit = i+1, unit/10 {
		c.millis += unit * int(c.b[c.pos+i]-'0')
	}
	c.pos += n
	return n > 0
}

var (
	monthNames = [12]string{"january", "february", "march", "april", "may", "june", "july", "august", "september",
		"october", "november", "december"}
	weekdays = [7]string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
)

func (c *wallClock) monthName() bool { return c.name(monthNames[:], &c.month) }

// name reads a name or its first three letters, in any case, and sets *to to its number from 1.
func (c *wallClock) name(names []string, to *int) bool {
	n := 0
	for c.pos+n < len(c.b) && (c.b[c.pos+n]|0x20 >= 'a' && c.b[c.pos+n]|0x20 <= 'z') {
		n++
	}
	word := c.b[c.pos : c.pos+n]
	for i, name := range names {
		if (n == 3 || n == len(name)) && strings.EqualFold(string(word), name[:n]) {
			*to = i + 1
			c.pos += n
			return true
		}
	}
	return false
}

// zone reads an offset from UTC: Z, UTC, GMT, +01:00, +0100 or +01, or another short name, which
// time looks up in the format's zone.
func (c *wallClock) zone() bool {
	c.zoned = true
	for _, name := range [...]string{"UTC", "GMT", "UT", "Z"} {
		if n := len(name); len(c.b)-c.pos >= n && strings.EqualFold(string(c.b[c.pos:c.pos+n]), name) {
			c.pos += n
			if name != "GMT" || c.end() || c.b[c.pos] != '+' && c.b[c.pos] != '-' {
				return true
			}
			break // JavaScript's GMT+0100
		}
	}
	sign := 1
	switch {
	case c.byte('+'):
	case c.byte('-'):
		sign = -1
	default:
		rest := c.b[c.pos:]
		c.named = rest[:len(rest)-len(bytes.TrimLeft(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))]
		c.pos += len(c.named)
		return len(c.named) > 0
	}
	var hours, minutes int
	if !c.number(&hours, 2, 2) {
		return false
	}
	if c.byte(':') && !c.number(&minutes, 2, 2) {
		return false
	}
	c.number(&minutes, 2, 2)
	c.offset = sign * (hours*60 + minutes) * 60
	return hours < 24 && minutes < 60
}

// time returns the time in milliseconds since 1970; zone applies to times without an offset, nil is
// UTC.
func (c *wallClock) time(zone *time.Location) (millis int64, ok bool) {
	if c.pivot { // as in POSIX
		if c.year += 1900; c.year < 1969 {
			c.year += 100
		}
	}
	if c.half != 0 {
		if c.hour < 1 || c.hour > 12 {
			return 0, false
		}
		c.hour %= 12
		if c.half == 'p' {
			c.hour += 12
		}
	}
	midnight := c.hour == 24 && c.minute == 0 && c.second == 0 && c.millis == 0 // the end of the day
	if !c.date() || c.hour > 23 && !midnight || c.minute > 59 || c.second > 59 {
		return 0, false
	}
	seconds := time.Date(c.year, time.Month(c.month), c.day, c.hour, c.minute, c.second, 0, time.UTC).Unix()
	switch {
	case c.named != nil:
		seconds, ok = secondsNamed(zone, seconds, c.named)
		return seconds*1000 + int64(c.millis), ok
	case c.zoned:
		seconds -= int64(c.offset)
	case zone != nil:
		seconds = secondsIn(zone, seconds)
	}
	return seconds*1000 + int64(c.millis), true
}

// date completes the date and reports whether it exists.
func (c *wallClock) date() bool {
	date := time.Date(c.year, time.Month(c.month), c.day, 0, 0, 0, 0, time.UTC)
	switch {
	case c.yearDay != 0:
		date = time.Date(c.year, 1, c.yearDay, 0, 0, 0, 0, time.UTC)
	case int(date.Month()) != c.month || date.Day() != c.day:
		return false
	}
	c.month, c.day = int(date.Month()), date.Day()
	return c.year >= 1 && date.Year() == c.year
}

// secondsNamed returns the Unix time at which a zone's clocks show the reading wall, as if it were
// UTC, while the zone's time has the given name.
func secondsNamed(zone *time.Location, wall int64, name []byte) (seconds int64, ok bool) {
	for _, near := range [...]int64{-day, day} {
		if zone == nil {
			return 0, false
		}
		_, offset := time.Unix(wall+near, 0).In(zone).Zone()
		seconds = wall - int64(offset)
		if called, now := time.Unix(seconds, 0).In(zone).Zone(); called == string(name) && now == offset {
			return seconds, true
		}
	}
	return 0, false
}

const day = 24 * 60 * 60 // seconds

// secondsIn returns the Unix time at which a zone's clocks show the reading wall, as if it were
// UTC. A reading shown twice means the first time; a skipped one is read as if the clocks had not
// been changed yet.
func secondsIn(zone *time.Location, wall int64) int64 {
	offset := func(instant int64) int64 {
		_, seconds := time.Unix(instant, 0).In(zone).Zone()
		return int64(seconds)
	}
	before, after := offset(wall-day), offset(wall+day)
	if before != after && offset(wall-before) != before && offset(wall-after) == after {
		return wall - after
	}
	return wall - before
}
