// Package compose computes the privacy cost of several mechanisms on the same data, the ε at a δ or
// the δ at an ε, by each of the accountants in the literature.
//
//	list := []compose.Mechanism{noise, laplace} // made by Gaussian, Laplace, …, and Times
//	question, err := compose.EpsilonAt(1e-6)
//	best, _, err := compose.Best(list, question)
//
// Compare runs all accountants. Calibrate solves the inverse problem: it returns the noise with
// which a number of releases stays within an (ε, δ). To add an accountant, start in accountants.go:
// parsing, help texts and documentation follow the table there.
//
// # Guarantees
//
//   - A result is never better than the truth: it is rounded up, and so is every intermediate sum.
//     The quotient of noise level and sensitivity is rounded towards more loss. So a sum of
//     decimals that is exact on paper may come out one unit higher in the last place.
//   - An accountant that does not apply returns the reason (NotApplicableError, ErrNotApplicable)
//     instead of a number: no result is NaN, infinite, or a δ of 1.
//   - A number out of range is a *units.RangeError that names it. Nothing panics.
//
// # Limits
//
// The package is not a filter: the list is fixed beforehand. For mechanisms chosen from the results
// of earlier ones, use package accounting; docs/accounting.md lists the accountants that have a
// filter. All mechanisms must be private for the same two neighbouring inputs: SampledGaussian adds
// or removes one individual, RandomizedResponse changes one. The caller is responsible for choosing
// neighbours and sensitivities.
//
// # Concurrency
//
// Mechanism, Question, Accountant and Verdict are values, and functions are stateless: everything
// is safe for concurrent use. A result can take seconds (pld, advanced) and is not interrupted.
package compose
