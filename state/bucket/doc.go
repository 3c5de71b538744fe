// Package bucket accounts for many individuals. It computes the individual privacy loss
// distributions of Koskela, Tobaben and Honkela ("Individual Privacy Accounting with Gaussian
// Differential Privacy"), Appendix D, and the smallest Gaussian guarantee that covers a
// distribution (Section 5). It also contains the filter that is based on this guarantee.
//
// A Ladder rounds an individual noise level (σ divided by the individual's contribution) down to
// one of a few levels. A bucket is such a level or, in general, a dominating pair. For each bucket,
// a Table holds the discrete Fourier transform of the discretised privacy loss distribution. A user
// is represented only by the number of times that each bucket was used (Counts). A Curve raises the
// transforms to these powers and evaluates δ(ε) by Plancherel's theorem (Lemma D.1). It needs no
// inverse transform, because the transform of the weights has a closed form for every ε.
//
// # Guarantees
//
//   - A reported δ, ε or μ is never better than the truth for the counted pairs. Discretised
//     distributions dominate the pairs (package pld). δ includes the mass at infinity (truncation),
//     Chernoff's bound on the probability of a loss outside the window (wrap-around), and a bound
//     on the omitted components. It also includes bounds on all rounding errors: in the transforms
//     (106 bits), their logarithms, the sum over buckets, the exponentials and the final sum.
//   - The bound on rounding errors grows more slowly than the number of mechanisms. It is below
//     1e-11 after 10^6 mechanisms.
//   - The error bounds are absolute: for a δ below about 1e-14, the result is a *pld.FloorError.
//     Package pld can compute smaller δ, for one composition at a time.
//   - A Filter never accepts more than its budget. The comment on Gate states the filter's promise
//     under adaptive choice, and the stronger promise for mechanisms that are fixed beforehand.
//   - No exported function returns NaN. Floating-point bounds assume IEEE 754 arithmetic and a math
//     package whose errors are at most 2 units in the last place.
//
// # Limits
//
// If a user's noise levels depend on earlier outputs, the user's curve is not an (ε, δ) guarantee.
// It must not be published either, because it is a function of the user's data. For the Gaussian
// mechanism without sampling, there is an exact and cheap filter (accounting.NewGaussian), on which
// nothing here improves. For the same noise, a Rényi filter with the relevant orders
// (accounting.NewRenyi) accepts everything that Filter accepts, because the condition of Section 5
// implies the Rényi condition. Filter adds the smallest μ and a tighter curve.
//
// # Concurrency
//
// A Table and a Ladder never change and may be shared. A Curve, and a Gate with its Filters, must
// be used by only one goroutine at a time. Counts are a plain slice.
package bucket
