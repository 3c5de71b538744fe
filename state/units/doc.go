// Package units has the numbers in which privacy loss is counted: Mu2 for what an account has
// spent, Precision for what a release reveals, Delta for probabilities.
//
// Guarantees: amounts are integers, nothing is accumulated in floating point; a charge is rounded
// up; arithmetic saturates towards refusal, so that a product or a sum that does not fit is "not
// admitted", never a small number; no function returns NaN. All types are values and safe for
// concurrent use.
package units
