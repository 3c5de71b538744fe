// Package mechanisms draws noise for your own programs. The filters of package state/accounting
// accept its prices. Package transforms/noisereduction draws the noise of a deployment's counts.
//
// Gaussian, Laplace and DiscreteGaussian add noise to a value. Exponential and PermuteAndFlip
// select a candidate, and SparseVector finds values above a threshold.
//
// Each mechanism releases one number, index or comparison, and returns its price in the types of
// state/loss. The price is for a sensitivity that the caller gives, for all individuals or for one.
//
// # Guarantees
//
// With random digits, the noise has exactly the distribution that is priced: it is drawn by
// comparing digits and by integer arithmetic, never by a floating-point function. The noise lies on
// a lattice whose spacing is a function of the scale alone. The value to which it is added is
// rounded to the same lattice; if that rounding costs something, the price includes it. Scales and
// prices are rounded up. A returned float64 is the exact noisy sum rounded to nearest, which is
// post-processing.
//
// # No guarantees
//
// The caller is responsible for the sensitivity, which bounds the difference between the float64
// values for two neighbouring inputs. Sums of floating-point numbers can differ by more than their
// terms (Casacuberta, Shoemate, Vadhan and Wagaman, 2022), so add integers. The package does not
// charge accounts: ask a filter before a release. An error about a value depends on the value. The
// duration of a draw depends on the noise: an observer who can time single draws learns something
// about the noise, as with every exact rejection sampler. Two releases from the same digits share
// their noise and reveal the values (see NewKeyed).
package mechanisms
