// Package int128 provides 128-bit integers: unsigned [Uint] for precisions, probabilities and
// privacy losses, and signed [Int] for sums of int64 in any order.
//
// Nothing wraps around. Overflow is reported, and saturates if the function's comment says so. Only
// operations that create a big.Int allocate. Values can be compared with ==, and are safe to share.
package int128
