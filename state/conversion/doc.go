// Package conversion converts one kind of privacy guarantee into another: (ε, δ),
// Rényi differential privacy at one or many orders, zero-concentrated differential
// privacy and its δ-approximate form, and Gaussian differential privacy.
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
// An ε of bounded range, which the exponential mechanism has, has the best conversions to zCDP, RDP
// and GDP.
//
// "Best" is the optimum: nothing smaller holds for every mechanism with the first guarantee. "None"
// has three reasons: finitely many Rényi orders do not bound all others, so they imply neither zCDP
// nor GDP; a δ > 0 at every ε excludes RDP and GDP; and the best GDP or (ε, δ) that ρ-zCDP implies
// is not known. For an event that is certain no Gaussian is enough: such conversions return errors.
//
// Conversions of a μ or a ρ to (ε, δ) call package budgets, so budgets and reports cannot disagree.
//
// # Guarantees
//
//   - A result is never better than the truth: ε, δ, ρ, μ and divergences are rounded up, and the μ
//     that fits into a budget is rounded down. The computation uses 384 bits with margins above its
//     error, and is tight to a few units in the last place of a float64, unless a function's
//     comment says otherwise.
//   - 1e-300 ≤ δ < 1 and 0 ≤ ε ≤ 1e6 are converted without loss of digits, whichever
//     tail they are in.
//   - A number out of range is a *units.RangeError that names it. No function returns NaN or
//     panics. A result of +Inf, where documented, promises nothing.
//
// # Limits
//
// The package does not compose: sums of losses belong to package accounting, whose arithmetic is
// exact, and distributions of losses to package pld. It takes guarantees as given: the caller
// vouches for them.
//
// # Concurrency
//
// Functions are stateless and safe for concurrent use.
package conversion
