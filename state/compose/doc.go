// Package compose computes the privacy cost of several mechanisms on the same data: the ε for a
// given δ, or the δ for a given ε. It implements the accountants in the literature.
//
//	list := []compose.Mechanism{noise, laplace} // made by Gaussian, Laplace, …, and Times
//	question, err := compose.EpsilonAt(1e-6)
//	best, _, err := compose.Best(list, question)
//
// Compare runs all accountants. Calibrate solves the inverse problem: it returns the noise with
// which a number of releases is within an (ε, δ). To add an accountant, begin in accountants.go.
//
// # Guarantees
//
//   - A result is never better than the truth: results and all intermediate sums are rounded up.
//     The quotient of noise level and sensitivity is rounded towards more loss. A sum of decimals
//     may therefore be one unit in the last place above the exact sum.
//   - An accountant that does not apply returns a NotApplicableError with the reason, and not a
//     number. No result is NaN, infinite, or a δ of 1.
//   - A number out of range gives a *units.RangeError that names the parameter. Nothing panics.
//
// # Limits
//
// The package is not a filter: the list must be fixed beforehand. For mechanisms that depend on the
// results of earlier ones, use package accounting; docs/accounting.md lists the accountants with a
// filter. All mechanisms must be private for the same pair of neighbouring inputs: for
// SampledGaussian, neighbours differ by one added or removed individual, and for RandomizedResponse
// by one changed individual. The caller must choose neighbours and sensitivities accordingly.
//
// # Concurrency
//
// Everything is safe for concurrent use. A result can take seconds (pld, advanced).
package compose
