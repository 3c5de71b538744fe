// Package conversion converts one kind of privacy guarantee into another: (ε, δ),
// Rényi differential privacy at one or many orders, zero-concentrated differential
// privacy and its δ-approximate form, and Gaussian differential privacy.
//
// # Which conversion there is, and how good it is
//
//	from       to (ε, δ)                 to RDP        to zCDP            to GDP
//	(ε, δ)     -                         ε only: best  best, approximate  ε only: best
//	RDP        RDPTo…: Lemma C.4         -             none               none
//	zCDP       ApproxZCDPTo…: Lemma C.4  best          -                  none
//	           at the best order
//	GDP        best                      best          best               -
//
// An ε of bounded range, which the exponential mechanism has, goes to zCDP, RDP and GDP by the
// best.
//
// "Best" is the optimum: nothing smaller holds for everything that has the first guarantee. "None":
// finitely many Rényi orders bound no others, so that they imply neither zCDP nor GDP; a δ > 0 at
// every ε excludes RDP and GDP; of what ρ-zCDP implies as a Gaussian or at one (ε, δ) the optimum
// is not known. For an event of certainty no Gaussian is enough: such conversions are errors.
//
// The conversions of a μ or a ρ to (ε, δ) are those of package budgets, called here, so
// that a budget and a report cannot disagree.
//
// # Guarantees
//
//   - A result is never better than the truth: ε, δ, ρ, μ and divergences are rounded up, the μ
//     that fits into a budget down. The computation is in 384 bits with margins above its error,
//     and is tight to a few units of the last place of a float64, unless a function states less.
//   - 1e-300 ≤ δ < 1 and 0 ≤ ε ≤ 1e6 are converted without loss of digits, whichever
//     tail they are in.
//   - A number out of range is a *units.RangeError that names it. No function returns NaN or
//     panics. +Inf, if it is documented, promises nothing.
//
// # Limits
//
// It does not compose: sums of losses belong to package accounting, whose arithmetic is exact, and
// distributions of losses to package pld. It accepts guarantees as given: the caller vouches for
// them.
//
// # Concurrency
//
// Functions have no state.
package conversion
