package event

import "math"

// parseInteger reads a decimal integer in JSON's grammar without fraction and exponent.
func parseInteger(b []byte) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	digits := b
	if negative {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	var n uint64
	for _, c := range digits {
		if c < '0' || c > '9' || n > math.MaxUint64/10-1 {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	if n > limit {
		return 0, false
	}
	if negative {
		return int64(-n), true
	}
	return int64(n), true
}

// parseWhole reads a number in JSON's grammar whose value is an integer, however it is written: 5,
// 5.0 and 5e0 are 5.
func parseWhole(b []byte) (int64, bool) {
	if n, ok := parseInteger(b); ok {
		return n, true
	}
	whole, fraction, exponent, negative, ok := splitNumber(b)
	if !ok {
		return 0, false
	}
	// The digits are whole followed by fraction; the decimal point stands after the first point of
	// them.
	point := len(whole) + exponent
	digits := len(whole) + len(fraction)
	digit := func(i int) byte {
		if i < len(whole) {
			return whole[i] - '0'
		}
		return fraction[i-len(whole)] - '0'
	}
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	var n uint64
	for i := range digits {
		c := uint64(digit(i))
		if i >= point {
			if c != 0 {
				return 0, false
			}
			continue
		}
		if n > (limit-c)/10 {
			return 0, false
		}
		n = n*10 + c
	}
	for i := digits; i < point && n != 0; i++ {
		if n > limit/10 {
			return 0, false
		}
		n *= 10
	}
	if negative {
		return int64(-n), true
	}
	return int64(n), true
}
