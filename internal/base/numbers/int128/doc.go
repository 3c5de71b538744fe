// Package int128 provides 128-bit integers: unsigned [Uint] for precisions, probabilities and
// privacy losses, and signed [Int] for sums of int64 in any order.
//
// Nothing wraps around: overflow is reported, and saturates if the function's comment promises it.
// Only operations that make a big.Int allocate. Values are compared with ==, and safe to share.
package int128
