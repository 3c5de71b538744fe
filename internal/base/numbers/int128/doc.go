// Package int128 has integers of 128 bits: [Uint] without a sign, of which
// precisions, probabilities and privacy losses are units, and [Int] with one, for
// sums of int64 whose order must not matter.
//
// Nothing wraps around: what does not fit is reported, and saturates where it is
// said so. No operation allocates but those that make a big.Int. Values are compared
// with ==, and safe to share.
package int128
