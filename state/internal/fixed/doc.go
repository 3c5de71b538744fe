// Package fixed implements sums of privacy loss as 256-bit integers in units of 2^-208. They are
// made from float64 values with an explicit direction of rounding. Meters check such sums against a
// limit. A single function, Fits, decides whether a loss fits into a budget, for the filters of
// package accounting and for package accounts.
//
// # Guarantees
//
//   - Up and SquareUp return the least Amount that is not below the exact value; Down and
//     SquareDown return the greatest Amount that is not above it. Sums of Amounts are exact, so no
//     error accumulates. A float64 of at least 2^-156, and the square of a float64 of at least
//     2^-52, are not rounded at all.
//   - Arithmetic saturates at Max. No limit reaches Max, so every Meter refuses a sum that
//     overflows 256 bits.
//   - The sum of the taken and reserved amounts of a Meter never exceeds its limit, and a call that
//     returns false changes nothing.
//   - No operation allocates, except Big, Bytes and FromBytes.
//
// # Limits
//
// The package does not know the meaning of its sums: package accounting shows that they bound a
// privacy loss. Numbers below 2^-208 become 2^-208 if rounded up, and 0 if rounded down.
//
// # Concurrency
//
// A Meter must be used by only one goroutine at a time.
package fixed
