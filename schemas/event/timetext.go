package event

import (
	"bytes"
	"regexp"
	"strings"
	"time"
)

// timeLayout finds the parts of a time. Its groups are named as the parts in layouts of package
// time; fraction and zone have no such names.
type timeLayout struct {
	*regexp.Regexp
	year string // year of times that have none
}

// longestTime limits the bytes of a time: an expression takes about 50 ns a byte.
const longestTime = 256

// parseTimeText reads a time by one of the layouts, ignoring the white space around it, and moves
// that layout to the front. It returns milliseconds since 1970; zone applies to times without an
// offset, nil is UTC.
func parseTimeText(text []byte, layouts []timeLayout, zone *time.Location) (millis int64, ok bool) {
	text = bytes.TrimSpace(text)
	n := len(text)
	if n > longestTime {
		return 0, false
	}
	if usual := len(layouts) > 1; usual && n > 10 && text[10] == 'T' { // faster than an expression
		if t, err := time.Parse(time.RFC3339, string(text)); err == nil {
			return t.UnixMilli(), true
		}
	} else if usual && n > 1 && text[0] == '[' && text[n-1] == ']' {
		text = text[1 : n-1]
	}
	for i, l := range layouts {
		if millis, ok = l.time(text, zone); ok {
			layouts[0], layouts[i] = l, layouts[0]
			return millis, true
		}
	}
	return 0, false
}

func (l timeLayout) time(text []byte, zone *time.Location) (millis int64, ok bool) {
	found := l.FindSubmatchIndex(text)
	if found == nil {
		return 0, false
	}
	layout, value := make([]byte, 0, 64), make([]byte, 0, 64)
	if l.year != "" {
		layout, value = append(layout, " 2006"...), append(append(value, ' '), l.year...)
	}
	offset, endOfDay := "", false // 24:00 is the end of a day
	for i, name := range l.SubexpNames() {
		if name == "" || found[2*i] < 0 {
			continue
		}
		part := text[found[2*i]:found[2*i+1]]
		switch name {
		case "zone":
			offset = string(part)
			continue
		case "fraction": // package time reads it after any second
			value = append(append(value, '.'), part...)
			continue
		case "Jan":
			part = part[:len(name)]
		case "PM":
			part = bytes.ToUpper(part)
		case "15":
			if endOfDay = string(part) == "24"; endOfDay {
				part = []byte{'0'}
			}
		}
		layout, value = append(append(layout, ' '), name...), append(append(value, ' '), part...)
	}
	wall, err := time.Parse(string(layout), string(value))
	if err != nil || endOfDay && !wall.Equal(wall.Truncate(24*time.Hour)) {
		return 0, false
	}
	seconds, ok := wall.Unix(), true
	if endOfDay {
		seconds += day
	}
	switch east, known := offsetFrom(offset); {
	case known:
		seconds -= east
	case offset != "":
		seconds, ok = secondsNamed(zone, seconds, offset)
	case zone != nil:
		seconds = secondsIn(zone, seconds)
	}
	return seconds*1000 + int64(wall.Nanosecond())/1e6, ok
}

// offsetFrom returns an offset from UTC in seconds east; false for a short name, which may mean one
// of several offsets.
func offsetFrom(text string) (east int64, known bool) {
	text = strings.ToUpper(text)
	switch text {
	case "UTC", "UT", "GMT":
		return 0, true
	}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "GMT"), ":", "") // JavaScript writes GMT+0100
	for _, layout := range [...]string{"Z0700", "Z07"} {
		if t, err := time.Parse(layout, text); err == nil {
			_, offset := t.Zone()
			return int64(offset), true
		}
	}
	return 0, false
}

// secondsNamed returns the Unix time at which a zone's clocks show the reading wall, as if it were
// UTC, while the zone's time has the given name.
func secondsNamed(zone *time.Location, wall int64, name string) (seconds int64, ok bool) {
	for _, near := range [...]int64{-day, day} {
		if zone == nil {
			return 0, false
		}
		_, offset := time.Unix(wall+near, 0).In(zone).Zone()
		seconds = wall - int64(offset)
		if called, now := time.Unix(seconds, 0).In(zone).Zone(); called == name && now == offset {
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
