// Package fixed has the sums of privacy loss: 256-bit integers of 2^-208, made from float64 values
// with an explicit direction of rounding, and meters that check such sums against a limit. One
// function, Fits, decides whether a loss fits a budget, for the filters of package accounting and
// for package accounts.
//
// # Guarantees
//
//   - Up and SquareUp return the least Amount that is not below the exact value, Down and
//     SquareDown the greatest that is not above it. Sums of Amounts are exact, however many are
//     added: there is no accumulated error. A float64 of at least 2^-156, and the square of one of
//     at least 2^-52, is not rounded at all.
//   - Arithmetic saturates at Max. No limit reaches Max, so every Meter refuses a sum that
//     overflows 256 bits.
//   - The taken and reserved amounts of a Meter never exceed its limit together, and a call that
//     returns false has changed nothing.
//   - No operation allocates, but for Big, Bytes and FromBytes.
//
// # Limits
//
// It does not know the meaning of its sums: package accounting shows that they bound a privacy
// loss. Numbers below 2^-208 become 2^-208 if rounded up, and 0 if rounded down.
//
// # Concurrency
//
// An Amount is a value. A Meter belongs to one goroutine at a time.
package fixed
