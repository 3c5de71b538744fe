// Package rounding provides float64 arithmetic that rounds to one side, for numbers behind a
// promise: losses are rounded up, allowances down.
//
// An exact float64 is returned unchanged, anything else as the nearest one on the requested side,
// down to the smallest numbers. Arguments are finite and at least 0, unless documented otherwise;
// results may be +Inf. For more than 53 bits, use internal/base/numbers/bigmath.
package rounding
