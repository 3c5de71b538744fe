// Package bigmath is the arithmetic of privacy guarantees: numbers of 384 bits, wide enough for the
// cancellation in a privacy curve, and the steps that round such a number to a float64 on the side
// that promises less.
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
// It checks no argument: the caller keeps to the domains, and results outside are undefined. It has
// no interval arithmetic: an upper bound needs Upward or an explicit margin. It is slow (tens of
// microseconds a function) and allocates: do not use it for every record.
//
// # Concurrency
//
// No function keeps or changes its arguments, or has any state.
package bigmath
