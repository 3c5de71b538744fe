package terminal

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/tollgate-dp/tollgate/internal/app/words"
)

// Number writes v with thousands separators and the given number of decimals.
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

// Ceiling writes the least whole number from v on.
func Ceiling(v float64) string { return Number(math.Ceil(v), 0) }

// Rounded writes a standard deviation to three digits, or to the whole number.
func Rounded(v float64) string {
	if v >= 100 {
		return Number(v, 0)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Target writes the errors that are asked for: "± 5 % or ± 50"; "" for none.
func Target(relative, absolute float64) string {
	var parts []string
	if relative > 0 {
		parts = append(parts, "± "+words.Digits(relative*100)+" %")
	}
	if absolute >= 1000 && absolute == math.Trunc(absolute) {
		parts = append(parts, "± "+Number(absolute, 0))
	} else if absolute > 0 {
		parts = append(parts, "± "+words.Digits(absolute))
	}
	return strings.Join(parts, " or ")
}

// decimals returns how many decimals are worth showing for a value with an error of margin. Fine
// values are no counts: they have one more.
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

// Key makes a key safe to print and fits it into width columns: characters that do not print are
// escaped, and a key that is too long has "…" in its middle: paths that begin alike stay apart.
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

// Bucket says in words which values are in a part of a range that is clamped to least and most: the
// outer parts also have what lies outside.
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

// pad fills text up to width columns.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-uniseg.StringWidth(text)))
}

// right fills text up to width columns from the left.
func right(text string, width int) string {
	return strings.Repeat(" ", max(0, width-uniseg.StringWidth(text))) + text
}

// EmptyKey is shown in place of the empty key where events have keys. Without it, a row of the
// events whose key is empty looks like one of all events.
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
