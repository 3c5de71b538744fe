package event

import (
	"bytes"
	"math"
	"time"
)

// The first and last milliseconds of the years 1 to 9999 UTC, in Unix time.
const (
	minMillis = -62135596800000
	maxMillis = 253402300799999
)

// parseTime parses a time in the format's unit and returns milliseconds since 1970, rounded down
// without intermediate rounding. ok is false if the text is not a time in the years 1 to 9999.
func (d *Decoder) parseTime(b []byte) (ms int64, ok bool) {
	b = bytes.TrimSpace(b)
	switch u, number := timeNumbers[d.unit]; {
	case number:
		// .NET writes /Date(1700000000000+0100)/. The offset does not affect the time.
		if date, found := bytes.CutPrefix(b, []byte("/Date(")); found && d.unit == "ms" {
			b = bytes.TrimSuffix(date, []byte(")/"))
			if sign := bytes.LastIndexAny(b, "+-"); sign > 0 {
				b = b[:sign]
			}
		}
		ms, ok = parseDecimal(b, u.shift)
		ok = ok && max(ms, -ms) < (math.MaxInt64-u.divisor)/u.factor
		ms = floorOf(ms*u.factor+u.divisor/2, u.divisor) + u.zero
	case d.unit == TimeText:
		ms, ok = parseTimeText(b, d.layouts, d.zone)
	default:
		var t time.Time
		if t.UnmarshalText(b) != nil {
			return 0, false
		}
		ms, ok = t.UnixMilli(), true
	}
	if ok = ok && ms >= minMillis && ms <= maxMillis; ok {
		ms = d.clock.Reading(ms)
	}
	return ms, ok
}

// timeNumbers are the units of numeric times: a number n stands for ⌊n·10^shift⌋·factor/divisor
// milliseconds, rounded, after the Unix time zero, which is in milliseconds.
var timeNumbers = map[string]struct {
	shift                 int
	factor, divisor, zero int64
}{
	"s": {3, 1, 1, 0}, "ms": {0, 1, 1, 0}, "us": {-3, 1, 1, 0}, "ns": {-6, 1, 1, 0},
	"min": {6, 6, 100, 0}, "h": {9, 36, 10000, 0}, "d": {9, 864, 10000, 0},
	"excel":    {9, 864, 10000, -2209161600000}, // days since 1899-12-30
	"filetime": {-4, 1, 1, -11644473600000},     // Windows: ticks of 100 ns since 1601
}

// maxExponent replaces larger exponents. With such an exponent, a number of up to 1 MiB of digits
// rounds to zero or is too large.
const maxExponent = 1 << 40

// parseDecimal returns ⌊x·10^shift⌋ for a number x in JSON's grammar. ok is false if b is not a
// number or the result has more than 18 digits.
func parseDecimal(b []byte, shift int) (n int64, ok bool) {
	most, negative, exact, ok := scaled(b, shift)
	if !ok || most >= 1e18 {
		return 0, false
	}
	n = int64(most)
	if negative {
		n = -n
		if !exact {
			n--
		}
	}
	return n, true
}

// splitNumber splits a number in JSON's grammar: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func splitNumber(b []byte) (whole, fraction []byte, exponent int, negative, ok bool) {
	if len(b) > 0 && b[0] == '-' {
		negative, b = true, b[1:]
	}
	n := digitsAt(b)
	if n == 0 || n > 1 && b[0] == '0' {
		return nil, nil, 0, false, false
	}
	whole, b = b[:n], b[n:]
	if len(b) > 0 && b[0] == '.' {
		n = digitsAt(b[1:])
		if n == 0 {
			return nil, nil, 0, false, false
		}
		fraction, b = b[1:n+1], b[n+1:]
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		b = b[1:]
		minus := false
		if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			minus, b = b[0] == '-', b[1:]
		}
		n = digitsAt(b)
		if n == 0 {
			return nil, nil, 0, false, false
		}
		for _, c := range b[:n] {
			exponent = min(exponent*10+int(c-'0'), maxExponent)
		}
		if minus {
			exponent = -exponent
		}
		b = b[n:]
	}
	return whole, fraction, exponent, negative, len(b) == 0
}

func digitsAt(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}
