package terminal

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/tollgate-dp/tollgate/internal/app/words"
)

// Number formats v with thousands separators and the given number of decimals.
func Number(v float64, decimals int) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	var b strings.Builder
	if v < 0 && strings.Trim(text, "0.") != "" {
		b.WriteByte('-')
	}
	for i, digit := range []byte(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(digit)
	}
	if fraction != "" {
		b.WriteByte('.')
		b.WriteString(fraction)
	}
	return b.String()
}

// Ceiling formats v, rounded up to a whole number.
func Ceiling(v float64) string { return Number(math.Ceil(v), 0) }

// Rounded formats a standard deviation with three digits; from 100 on, as a whole number.
func Rounded(v float64) string {
	if v >= 100 {
		return Number(v, 0)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Target formats the errors of a target: "± 5% or ± 50"; "" without a target.
func Target(relative, absolute float64) string {
	var parts []string
	if relative > 0 {
		parts = append(parts, "± "+words.Digits(relative*100)+"%")
	}
	if absolute >= 1000 && absolute == math.Trunc(absolute) {
		parts = append(parts, "± "+Number(absolute, 0))
	} else if absolute > 0 {
		parts = append(parts, "± "+words.Digits(absolute))
	}
	return strings.Join(parts, " or ")
}

// decimals returns how many decimals are worth showing for a value with the given margin of error.
// Fine values, which are not counts, have one more.
func decimals(margin float64, fine bool) int {
	least, digits := 1., 0
	if fine {
		least = 10
	}
	for margin < least && digits < 2 {
		least, digits = least/10, digits+1
	}
	return digits
}

// Key makes a key safe to print and fits it into width columns. It escapes characters that do not
// print, and puts "…" in the middle of a key that is too long, so that paths with the same
// beginning remain distinct.
func Key(key string, width int) string {
	text := escape(key, "")
	if uniseg.StringWidth(text) <= width {
		return text
	}
	var parts []string
	for g := uniseg.NewGraphemes(text); g.Next(); {
		parts = append(parts, g.Str())
	}
	head, tail, left := 0, len(parts), width-1
	fits := func(part string) bool {
		left -= uniseg.StringWidth(part)
		return left >= 0
	}
	for {
		if head <= len(parts)-tail && fits(parts[head]) {
			head++
		} else if head > len(parts)-tail && fits(parts[tail-1]) {
			tail--
		} else {
			break
		}
	}
	return strings.Join(parts[:head], "") + "…" + strings.Join(parts[tail:], "")
}

// Bucket describes the values in a bucket of a range that is clamped to least and most: the outer
// buckets also have the values outside the range.
func Bucket(from, below, least, most int64) string {
	lower, upper := Number(float64(from), 0), Number(float64(below), 0)
	switch {
	case from > least && below < most:
		return lower + " to below " + upper
	case below < most:
		return "below " + upper
	case from > least:
		return lower + " or more"
	}
	return "all"
}

// pad appends spaces to text, up to width columns.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-uniseg.StringWidth(text)))
}

// right puts spaces before text, up to width columns.
func right(text string, width int) string {
	return strings.Repeat(" ", max(0, width-uniseg.StringWidth(text))) + text
}

// EmptyKey is shown instead of the empty key if events have keys. Without it, a row for events with
// an empty key would look like one for all events.
const EmptyKey = "(empty)"

// windowText names a window in UTC as briefly as its size allows.
func windowText(start, end time.Time) string {
	start, end = start.UTC(), end.UTC()
	size := end.Sub(start)
	midnight := start.Truncate(24*time.Hour).Equal(start) && size%(24*time.Hour) == 0
	switch {
	case midnight && size == 24*time.Hour:
		return start.Format("2006-01-02")
	case midnight && size >= 365*24*time.Hour:
		return start.Format("2006-01-02") + " to " + end.Format("2006-01-02")
	case midnight:
		return start.Format("2006-01-02") + " to " + end.Format("01-02")
	}
	clock := "15:04"
	switch {
	case start.Nanosecond() != 0 || size%time.Second != 0:
		clock = "15:04:05.000"
	case start.Second() != 0 || size%time.Minute != 0:
		clock = "15:04:05"
	}
	if size > 24*time.Hour {
		return start.Format("2006-01-02 "+clock) + " to " + end.Format("01-02 "+clock)
	}
	return start.Format("2006-01-02 "+clock) + "–" + end.Format(clock)
}
