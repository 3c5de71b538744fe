package event

import (
	"bytes"
	"regexp"
	"strings"
	"time"
)

// timeLayout is a regular expression for times. Its groups have the names that package time uses in
// layouts, as "2006" for the year, except for the groups "fraction" and "zone".
type timeLayout struct {
	*regexp.Regexp
	year string // year of times without one
}

// maxTimeBytes is the maximum length of a time. It bounds the time for matching a regular
// expression, which takes about 50 ns per byte.
const maxTimeBytes = 256

// parseTimeText parses a time in one of the layouts, ignoring white space around it, and returns
// milliseconds since 1970. It moves the layout that matches to the front of layouts. zone is the
// zone of times without an offset; nil means UTC.
func parseTimeText(text []byte, layouts []timeLayout, zone *time.Location) (millis int64, ok bool) {
	text = bytes.TrimSpace(text)
	n := len(text)
	if n > maxTimeBytes {
		return 0, false
	}
	if usual := len(layouts) > 1; usual && n > 10 && text[10] == 'T' { // faster than a regular expression
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
		case "fraction": // package time accepts a fraction after any second
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

// offsetFrom parses an offset from UTC and returns it in seconds east. known is false for an
// abbreviation of a zone's name, which may stand for several offsets.
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

// secondsNamed returns the Unix time at which clocks in zone show wall while the zone's time is
// called name. wall is the reading in seconds, as if it were UTC.
func secondsNamed(zone *time.Location, wall int64, name string) (seconds int64, ok bool) {
	for _, shift := range [...]int64{-day, day} {
		if zone == nil {
			return 0, false
		}
		_, offset := time.Unix(wall+shift, 0).In(zone).Zone()
		seconds = wall - int64(offset)
		if called, now := time.Unix(seconds, 0).In(zone).Zone(); called == name && now == offset {
			return seconds, true
		}
	}
	return 0, false
}

const day = 24 * 60 * 60 // seconds

// secondsIn returns the Unix time at which clocks in zone show wall, which is the reading in
// seconds, as if it were UTC. For a reading that occurs twice, it returns the first time. A reading
// that is skipped is interpreted as if the clocks had not been changed yet.
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
