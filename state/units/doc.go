// Package units defines the numbers for privacy loss: Mu2 for the loss of an account, Precision for
// the precision of a release, Delta for probabilities.
//
// Guarantees: amounts are integers, and nothing is accumulated in floating point; a charge is
// rounded up; arithmetic saturates towards refusal: a product or sum that overflows is never a
// small number, and so is not admitted; no function returns NaN. All types are values and safe for
// concurrent use.
package units
