// Package pld computes privacy loss distributions: the distribution of the privacy loss
// ln(P(o)/Q(o)) for o drawn from P, where (P, Q) is a dominating pair of a mechanism. Composition
// adds losses, so it convolves distributions; the δ at any ε follows from the result. It is the
// tightest accounting in this module: only discretisation and rounding loosen it.
//
// # Guarantees
//
//   - Every reported δ and ε is an upper bound on the true one. Discretisation yields a pair that
//     dominates the original ("connecting the dots": Doroshenko, Ghazi, Kamath, Kumar and
//     Manurangsi, 2022); mass cut off at the top is moved to infinity, and mass cut off at the
//     bottom is moved up to the lowest loss.
//   - The errors of truncation (Chernoff's bound), of wrap-around in the Fourier transform and of
//     floating point are bounded, and the bounds are part of the reported δ. They assume IEEE 754
//     arithmetic and that math.Exp, Expm1, Log, Log1p, Sinh, Erf, Erfc, Sin and Cos are exact to 2
//     units in the last place, which tests check against arbitrary precision at random points. Log
//     need be so only at normal numbers: at subnormal ones it is not called, or it errs towards
//     more loss.
//   - δ does not rise with ε, nor ε with δ: exactly so on the grid, and up to the last digit
//     between two grid points.
//   - Distributions are exponentially tilted before they are transformed, so that the error is
//     small relative to δ down to Options.MinDelta, not only down to 1e-16. For a δ too small for
//     any bound, the result is +Inf with a *FloorError. Small compositions are convolved term by
//     term, with no absolute error at all.
//   - No grid has more than Options.MaxPoints points. A composition that would have more is
//     computed on a coarser grid, which still gives a bound; if the caller has fixed the interval,
//     the result is a *SizeError instead. A Distribution keeps one grid per distinct part and, once
//     queried, its curve.
//   - Mechanisms may be chosen adaptively if their number and their dominating pairs are fixed
//     beforehand (Zhu, Dong and Wang, 2022, Theorem 10).
//
// # Limits
//
// A Distribution is not a filter: if dominating pairs depend on earlier outputs, the composed curve
// guarantees nothing. The package gives no lower bounds. It does not know how a mechanism is
// implemented: if you price floating-point noise as Gaussian, that is your claim.
//
// # Concurrency
//
// Pairs, grids and vectors are values; a Vector shares its slice. A Distribution is immutable and
// may be used by several goroutines.
package pld
