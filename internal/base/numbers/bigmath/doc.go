// Package bigmath provides the arithmetic for privacy guarantees: 384-bit numbers, wide enough for
// the cancellation in a privacy curve, and functions that round such a number to a float64 on the
// side that promises less.
//
// # Guarantees
//
// Exp, Log, NormalDensity, UpperTail and Mills are exact to a relative 2^-190 on the domains they
// state. A privacy curve (GaussianDelta, RenyiDelta) is exact to a relative 2^-141 after its
// cancellations; Upward adds 2^-140 of itself, so that its result is an upper bound. RoundUp and
// RoundDown are exact.
//
// # Limits
//
// Functions do not check their arguments: results outside the stated domains are undefined. There
// is no interval arithmetic: an upper bound needs Upward or an explicit margin. Functions are slow
// (tens of microseconds per call) and allocate: do not use them for every record.
//
// # Concurrency
//
// Functions are stateless, and neither retain nor, except Upward, change their arguments.
package bigmath
