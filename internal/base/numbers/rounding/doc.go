// Package rounding does float64 arithmetic that is rounded to one side, for
// numbers that a promise rests on: what was lost up, what is allowed down.
//
// What a float64 holds comes out exactly, anything else as the nearest one on the
// side that was asked for, down to the smallest numbers. Arguments are finite and at
// least 0, unless a function says otherwise; results may be +Inf. Where more than 53
// bits are wanted on the way, state/internal/bigmath has them.
package rounding
