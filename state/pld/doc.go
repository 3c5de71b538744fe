// Package pld computes privacy loss distributions. Such a distribution is that of the privacy loss
// ln(P(o)/Q(o)) for o drawn from P, where (P, Q) is a dominating pair of a mechanism. Composition
// adds up losses, so it convolves distributions, and the result gives δ at any ε. This is the
// tightest accounting in this module: only discretisation and rounding make it looser.
//
// # Guarantees
//
//   - Every reported δ and ε is an upper bound on the true value. Discretisation gives a pair that
//     dominates the original ("connecting the dots": Doroshenko, Ghazi, Kamath, Kumar and
//     Manurangsi, 2022). Mass that is cut off at the top is moved to infinity, and mass that is cut
//     off at the bottom is moved up to the lowest loss.
//   - The reported δ includes bounds on the errors of truncation (Chernoff's bound), of wrap-around
//     in the Fourier transform and of floating point. The bounds assume IEEE 754 arithmetic, and
//     errors of at most 2 units in the last place in math.Exp, Expm1, Log, Log1p, Sinh, Erf, Erfc,
//     Sin and Cos. Tests check this assumption at random points against arbitrary precision. For
//     Log, it is needed only at normal numbers: at subnormal numbers, Log is not called or errs
//     towards more loss.
//   - δ does not increase with ε, and ε does not increase with δ. This is exact on the grid, and
//     true up to the last digit between two grid points.
//   - Distributions are exponentially tilted before they are transformed. The error is thus small
//     relative to δ down to Options.MinDelta, and not only down to 1e-16. For a δ that is too small
//     for any bound, the result is +Inf with a *FloorError. Small compositions are convolved term
//     by term, without any absolute error.
//   - No grid has more than Options.MaxPoints points. A composition that would have more is
//     computed on a coarser grid, which still gives a bound, or, if the caller has fixed the
//     interval, the result is a *SizeError. A Distribution keeps one grid per distinct part and,
//     after a query, its curve.
//   - Mechanisms may be chosen adaptively if their number and their dominating pairs are fixed
//     beforehand (Zhu, Dong and Wang, 2022, Theorem 10).
//
// # Limits
//
// A Distribution is not a filter: if dominating pairs depend on earlier outputs, the composed curve
// guarantees nothing. The package gives no lower bounds. It does not know how a mechanism is
// implemented: the caller must decide whether floating-point noise can be priced as Gaussian.
//
// # Concurrency
//
// Pairs, grids and vectors are values; copies of a Vector share a slice. A Distribution is
// immutable and safe for concurrent use.
package pld
