// Package bucket accounts for many individuals at once: the individual privacy loss distributions
// of Koskela, Tobaben and Honkela ("Individual Privacy Accounting with Gaussian Differential
// Privacy"), Appendix D; the smallest Gaussian guarantee that covers them (Section 5); and the
// filter built on it.
//
// A Ladder rounds an individual noise level (σ over the individual's contribution) down to one of a
// few. For each level, or for any other list of dominating pairs, a Table holds the discrete
// Fourier transform of the discretised privacy loss distribution. A user is represented only by how
// many times each bucket was used (Counts). A Curve raises the transforms to these powers and
// evaluates δ(ε) by Plancherel's theorem (Lemma D.1), without transforming back: the transform of
// the weights has a closed form for every ε.
//
// # Guarantees
//
//   - A reported δ, ε or μ is never better than the truth for the counted pairs: discretisation
//     dominates them (package pld), and δ includes the mass at infinity (truncation), Chernoff's
//     bound on the probability of leaving the window (wrap-around), a bound on the components too
//     small to compute, and a bound on every rounding: in the transforms (106 bits), their
//     logarithms, the sum over buckets, the exponentials and the final sum.
//   - The bound on the rounding grows more slowly than the number of mechanisms: it is below 1e-11
//     after 10^6.
//   - The bounds are absolute: for a δ below about 1e-14 the result is a *pld.FloorError. Package
//     pld reaches smaller δ, for one composition at a time.
//   - A Filter never accepts more than its budget. The comment on Gate states its promise under
//     adaptive choice, and the stronger one for mechanisms fixed beforehand.
//   - No exported function returns NaN. Floating-point bounds assume IEEE 754 arithmetic and a math
//     package exact to 2 units in the last place.
//
// # Limits
//
// The curve of a user whose noise levels depend on earlier outputs is not an (ε, δ) guarantee,
// however tight; nor may it be published, as it is a function of the user's data. The Gaussian
// mechanism without sampling has an exact filter at no cost (accounting.NewGaussian): nothing here
// improves on it. For the same noise a Rényi filter of the orders that matter (accounting.NewRenyi)
// accepts at least what Filter does, as the condition of Section 5 implies the Rényi one: Filter
// adds the smallest μ and, for a fixed sequence, its tighter curve.
//
// # Concurrency
//
// A Table and a Ladder never change and may be shared. A Curve, a Gate and the Filters of one Gate
// belong to one goroutine at a time; Counts are a plain slice.
package bucket
