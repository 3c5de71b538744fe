// Package timespan reads and writes durations as in files and flags: 90s, 1h30m, 30d.
package timespan

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// units holds the units of durations, longest first.
var units = [...]struct {
	name string
	size time.Duration
}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}

// Parse reads a duration like 500ms, 90s, 1m, 1h30m, 1d or 30d: whole numbers with units, larger
// units first. A day is 24 hours.
func Parse(text string) (time.Duration, error) {
	const want = "write it like 30s, 1m, 1h30m or 30d"
	if text == "" {
		return 0, errors.New("it is empty: " + want)
	}
	if text == "0" {
		return 0, nil
	}
	if strings.HasPrefix(text, "-") {
		return 0, errors.New("it is below 0: " + want)
	}
	var sum time.Duration
	rest := text
	last := time.Duration(math.MaxInt64)
	for rest != "" {
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			return 0, fmt.Errorf("it has no unit: write %ss, %[1]sm, %[1]sh or %[1]sd", rest)
		}
		count, err := strconv.ParseInt(rest[:end], 10, 64)
		size, name := unitOf(rest[end:])
		if err != nil || size == 0 || size >= last {
			return 0, errors.New("it is not a duration of whole days, hours, minutes, seconds or milliseconds: " +
				want)
		}
		if count > int64((math.MaxInt64-sum)/size) {
			return 0, errors.New("it is longer than 290 years")
		}
		sum += time.Duration(count) * size
		rest, last = rest[end+len(name):], size
	}
	return sum, nil
}

// unitOf returns the size and name of the unit at the start of a text; 0 if there is no unit.
func unitOf(text string) (time.Duration, string) {
	end := strings.IndexFunc(text, func(r rune) bool { return r >= '0' && r <= '9' })
	if end >= 0 {
		text = text[:end]
	}
	for _, u := range units {
		if u.name == text {
			return u.size, text
		}
	}
	return 0, ""
}

// Text formats a duration, truncated to milliseconds, as Parse reads it.
func Text(d time.Duration) string {
	if d < time.Millisecond {
		return "0s"
	}
	var b strings.Builder
	for _, u := range units {
		if n := d / u.size; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d -= n * u.size
		}
	}
	return b.String()
}
