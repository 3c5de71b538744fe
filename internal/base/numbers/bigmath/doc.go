// Package bigmath provides the arithmetic for privacy guarantees. Its numbers have 384 bits, enough
// for the cancellation in a privacy curve. Some functions round such a number to a float64, to the
// side that promises less.
//
// # Guarantees
//
// Exp, Log, NormalDensity, UpperTail and Mills are exact to a relative 2^-190 on the domains that
// they state. A privacy curve (GaussianDelta, RenyiDelta) is exact to a relative 2^-141 after its
// cancellations. Upward adds a relative 2^-140, so its result is an upper bound. RoundUp and
// RoundDown are exact.
//
// # Limits
//
// Functions do not check their arguments, and results outside the stated domains are undefined.
// There is no interval arithmetic: an upper bound needs Upward or an explicit margin. Functions
// allocate and are slow (tens of microseconds per call), so do not use them for every record.
//
// # Concurrency
//
// Functions are stateless, and neither retain nor, except Upward, change their arguments.
package bigmath
