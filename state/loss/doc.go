// Package loss defines bounds on privacy loss as plain values: (ε, δ), Rényi, zero-concentrated and
// Gaussian differential privacy.
//
// A value bounds what one mechanism, or several mechanisms together, reveal about one individual.
// Validate checks whether the numbers can be such a bound. Every function that accepts a loss calls
// Validate, so that no NaN, infinity or negative number enters a sum.
//
// Package conversion converts values into each other. Copies of an RDP share a slice.
package loss
