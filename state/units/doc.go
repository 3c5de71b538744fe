// Package units defines the numbers for privacy loss: Mu2 for the loss of an account, Precision for
// the precision of a release, and Delta for probabilities.
//
// Amounts are integers, and nothing is accumulated in floating point. Charges are rounded up.
// Arithmetic saturates: a product or sum that overflows becomes the greatest number, which no
// budget admits. No function returns NaN.
package units
