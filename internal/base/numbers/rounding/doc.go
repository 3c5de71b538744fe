// Package rounding provides float64 arithmetic that rounds to one side, for numbers on which a
// promise depends: losses are rounded up, allowances down.
//
// If the exact result is a float64, it is returned; otherwise the nearest float64 on the requested
// side, down to the smallest numbers. Arguments must be finite and at least 0, unless documented
// otherwise. Results may be +Inf. For more than 53 bits, use internal/base/numbers/bigmath.
package rounding
