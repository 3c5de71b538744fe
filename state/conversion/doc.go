// Package conversion converts between kinds of privacy guarantees: (ε, δ), Rényi differential
// privacy at one or many orders, zero-concentrated differential privacy and its δ-approximate form,
// and Gaussian differential privacy.
//
// # Which conversions there are, and how tight they are
//
//	from       to (ε, δ)                 to RDP        to zCDP            to GDP
//	(ε, δ)     -                         ε only: best  best, approximate  ε only: best
//	RDP        RDPTo…: Lemma C.4         -             none               none
//	zCDP       ApproxZCDPTo…: Lemma C.4  best          -                  none
//	           at the best order
//	GDP        best                      best          best               -
//
// ε-bounded range, which the exponential mechanism has, can also be converted: the conversions to
// zCDP, RDP and GDP are best.
//
// "Best" is the optimum: nothing smaller holds for every mechanism with the first guarantee. Some
// conversions do not exist. Finitely many Rényi orders do not bound all other orders, so they imply
// neither zCDP nor GDP. An (ε, δ) with δ > 0 implies neither RDP nor GDP. The best GDP or (ε, δ)
// that ρ-zCDP implies is not known.
//
// Conversions of μ or ρ to (ε, δ) call package budgets, so budgets and reports agree.
//
// # Guarantees
//
//   - A result is never better than the truth: ε, δ, ρ, μ and divergences are rounded up, and the μ
//     that fits into a budget is rounded down. Computations use 384 bits, with margins that exceed
//     their errors. Results are tight to a few units in the last place of a float64, unless a
//     function's comment states otherwise.
//   - 1e-300 ≤ δ < 1 and 0 ≤ ε ≤ 1e6 are converted without loss of digits, even far in a tail.
//   - A number out of range gives a *units.RangeError that names the parameter. No function returns
//     NaN or panics. Some functions may return +Inf, which promises nothing; their comments say so.
//
// # Limits
//
// The package does not compose: package accounting adds up losses exactly, and package pld composes
// distributions of losses. It does not check whether the caller's guarantees are true.
//
// # Concurrency
//
// Functions are stateless and safe for concurrent use.
package conversion
