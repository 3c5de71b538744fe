// Package loss has the kinds of bounds on privacy loss as plain values: (ε, δ), Rényi,
// zero-concentrated and Gaussian differential privacy.
//
// A value bounds the leak of one mechanism, or of several together, about one individual. Validate
// checks whether the numbers can be such a bound. Every function that accepts a loss calls it, so
// that no NaN, infinity or negative number enters a sum.
//
// The values do not convert into each other here: see package conversion. They may be copied and
// shared; an RDP shares its slice.
package loss
