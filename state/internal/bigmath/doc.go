// Package bigmath is the arithmetic in which privacy guarantees are computed:
// numbers of 384 bits, so wide that what cancels in a privacy curve does not
// matter, and the steps by which a number of that width becomes a float64 on the
// side that promises less.
//
// # Guarantees
//
// Exp, Log, NormalDensity, UpperTail and Mills are exact to a relative 2^-190 on
// the domains they state. A privacy curve (GaussianDelta, RenyiDelta) is exact to
// a relative 2^-141 after its cancellations; Upward adds 2^-140 of itself, so that
// its result is an upper bound. RoundUp and RoundDown are exact.
//
// # What it does not do
//
// It checks no argument: the domains are the duty of the caller, and what is
// outside is undefined. An upper bound becomes one by Upward or by an explicit
// margin; nothing here is an interval arithmetic. It is slow (tens of
// microseconds a function) and allocates: not for a path that is taken per record.
//
// # Concurrency
//
// No function keeps or changes its arguments, or has any state.
package bigmath
