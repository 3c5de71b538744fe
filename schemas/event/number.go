package event

import (
	"bytes"
	"math"
	"strconv"
)

// parseInteger parses a decimal integer in JSON's grammar, without fraction and exponent.
func parseInteger(b []byte) (int64, bool) {
	digits := bytes.TrimPrefix(b, []byte("-"))
	if len(digits) == 0 || digits[0] == '+' || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil
}

// signed returns n, or −n if negative is set, and whether the result fits into an int64.
func signed(n uint64, negative bool) (int64, bool) {
	if negative {
		return int64(-n), n <= 1<<63
	}
	return int64(n), n <= math.MaxInt64
}

// parseWhole parses a number in JSON's grammar whose value is an integer: 5, 5.0 and 5e0 are 5.
func parseWhole(b []byte) (int64, bool) {
	if n, ok := parseInteger(b); ok {
		return n, true
	}
	n, negative, exact, ok := scaled(b, 0)
	whole, fits := signed(n, negative)
	return whole, ok && exact && fits
}

// maxUnits is the maximum of a value with decimals, in units of 10^−decimals.
const maxUnits = 1e18

// parseValue parses a number in JSON's grammar and returns it in units of 10^−decimals. If decimals
// is 0, the number must be an integer. Otherwise it is rounded, half away from zero, and its
// absolute value must be at most maxUnits.
func parseValue(b []byte, decimals int) (int64, bool) {
	if decimals == 0 {
		return parseWhole(b)
	}
	n, negative, _, ok := scaled(b, decimals+1)
	n = (n + 5) / 10
	value, _ := signed(n, negative)
	return value, ok && n <= maxUnits
}

// groupSeparators are the separators of thousands, in addition to the point or comma, whichever is
// not the decimal mark.
var groupSeparators = [...]string{" ", "'", "’", "\u00a0", "\u202f", "\u2009"}

// appendPlain appends a number, converted to JSON's grammar. It accepts +5, .5, 5. and 007, and
// thousands in groups of three: 1,234.56, 1'234 and 1 234. point is the decimal mark: '.' or ','.
func appendPlain(dst, b []byte, point byte) (plain []byte, ok bool) {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if b[0] == '-' {
			dst = append(dst, '-')
		}
		b = b[1:]
	}
	n := digitsAt(b)
	whole := b[:n]
	zeros := len(whole) - len(bytes.TrimLeft(whole, "0"))
	dst, b = append(dst, whole[min(zeros, max(n-1, 0)):]...), b[n:]
	if n == 0 {
		dst = append(dst, '0')
	} else if n <= 3 && zeros == 0 {
		dst, b = appendGroups(dst, b, point)
	}
	if len(b) > 0 && b[0] == point {
		m := digitsAt(b[1:])
		if m > 0 {
			dst = append(append(dst, '.'), b[1:1+m]...)
		}
		n, b = n+m, b[1+m:]
	}
	return append(dst, b...), n > 0 && (len(b) == 0 || b[0]|0x20 == 'e')
}

// appendGroups appends the digits of the groups with which b begins: three digits after a
// separator, which is the same for all groups.
func appendGroups(dst, b []byte, point byte) (plain, rest []byte) {
	separator := []byte{'.' ^ ',' ^ point}
	for _, s := range groupSeparators {
		if bytes.HasPrefix(b, []byte(s)) {
			separator = []byte(s)
		}
	}
	for {
		group, found := bytes.CutPrefix(b, separator)
		if !found || digitsAt(group) != 3 {
			return dst, b
		}
		dst, b = append(dst, group[:3]...), group[3:]
	}
}

// decodeValueText sets d.value from the text of the value field, or returns the class of a fault. A
// text of white space is a null value.
func (d *Decoder) decodeValueText() (class string) {
	var ok bool
	text := d.raw[fieldValue]
	if !d.decimalComma {
		if d.value, ok = parseValue(text, d.decimals); ok {
			return ""
		}
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return ClassNullField
	}
	point := byte('.')
	if d.decimalComma {
		point = ','
	}
	if d.plain, ok = appendPlain(d.plain[:0], text, point); ok {
		d.value, ok = parseValue(d.plain, d.decimals)
	}
	if !ok {
		return ClassWrongType
	}
	return ""
}

// inUnits returns n in units of 10^−decimals, and whether the result is within ±maxUnits.
func inUnits(n int64, decimals int) (int64, bool) {
	for range decimals {
		if n > maxUnits/10 || n < -maxUnits/10 {
			return 0, false
		}
		n *= 10
	}
	return n, true
}

// scaled returns ⌊|x|·10^shift⌋ for a number x in JSON's grammar. exact reports whether
// |x|·10^shift is an integer. ok is false if b is not a number or the result is too large.
func scaled(b []byte, shift int) (n uint64, negative, exact, ok bool) {
	whole, fraction, exponent, negative, ok := splitNumber(b)
	if !ok {
		return 0, false, false, false
	}
	const most = math.MaxUint64/10 - 1
	digits := len(whole) + len(fraction)
	point := len(whole) + exponent + shift // number of digits before the decimal point
	exact = true
	for i := range digits {
		c := byte('0')
		if i < len(whole) {
			c = whole[i]
		} else {
			c = fraction[i-len(whole)]
		}
		switch {
		case i >= point:
			exact = exact && c == '0'
		case n > most:
			return 0, false, false, false
		default:
			n = n*10 + uint64(c-'0')
		}
	}
	for i := digits; i < point && n != 0; i++ {
		if n > most {
			return 0, false, false, false
		}
		n *= 10
	}
	return n, negative, exact, true
}
