// Package fixed implements sums of privacy loss, 256-bit integers in units of 2^-208 made from
// float64 values with an explicit direction of rounding, and meters that check such sums against a
// limit. One function, Fits, decides whether a loss fits a budget, for the filters of package
// accounting and for package accounts.
//
// # Guarantees
//
//   - Up and SquareUp return the least Amount that is not below the exact value, Down and
//     SquareDown the greatest that is not above it. Sums of Amounts are exact, however many are
//     added: no error accumulates. A float64 of at least 2^-156, and the square of a float64 of at
//     least 2^-52, are not rounded at all.
//   - Arithmetic saturates at Max. No limit reaches Max, so every Meter refuses a sum that
//     overflows 256 bits.
//   - The taken and reserved amounts of a Meter never exceed its limit together, and a call that
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
// An Amount is a value. A Meter belongs to one goroutine at a time.
package fixed
