// Package mechanisms draws noise in programs of your own, priced for the filters of package
// state/accounting. The noise of a deployment's counts is drawn in transforms/noisereduction.
//
// There is Gaussian, Laplace and discrete Gaussian noise. Exponential and PermuteAndFlip select a
// candidate, SparseVector finds values above a threshold.
//
// Each mechanism releases one number, index or comparison, and prices it in the types of
// state/loss, for a sensitivity that the caller gives: for all individuals or for one.
//
// # Guarantees
//
// Given random digits, the noise has exactly the law that is priced: it is drawn by comparing
// digits and by integer arithmetic, never by a function in floating point. It lies on a lattice
// whose spacing is a function of the scale alone, and so does the value it is added to; if rounding
// the value costs something, the price includes it. Scales are rounded up and prices too. A float64
// that is returned is the exact noisy sum rounded to nearest, which is post-processing.
//
// # No guarantees
//
// The caller is responsible for the sensitivity, a bound on the difference of the two float64
// values passed in. Sums of floating-point numbers can differ by more than the terms (Casacuberta,
// Shoemate, Vadhan and Wagaman, 2022): add integers. The package charges no account; ask a filter
// before a release. An error about a value depends on the value. How long a draw takes depends on
// the noise: an observer who can time single draws learns something about it, as for every exact
// sampler by rejection. Two releases from the same digits share their noise and give the values
// away (see NewKeyed).
package mechanisms
