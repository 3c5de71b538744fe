// Package loss defines bounds on privacy loss as plain values: (ε, δ), Rényi, zero-concentrated and
// Gaussian differential privacy.
//
// A value bounds the leak about one individual from one mechanism, or from several together.
// Validate checks whether the numbers can be such a bound. Every function that accepts a loss calls
// it, so that no NaN, infinity or negative number enters a sum.
//
// Package conversion converts them into each other. They may be copied and shared; an RDP shares
// its slice.
package loss
