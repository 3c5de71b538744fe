// Package fixed has the sums of privacy loss: 256-bit integers of 2^-208,
// made from float64 values with the direction of rounding stated, and the meters that
// check such sums against a limit. Whether a loss fits a budget is decided in one place, Fits: for
// the filters of package accounting, whose sums these are, and for the accounts of accounts.
//
// # Guarantees
//
//   - An Amount of Up or SquareUp is the least that is not below the exact value,
//     one of Down or SquareDown the greatest that is not above it. Sums of Amounts
//     are exact, however many are added: there is no accumulated error. A float64 of at
//     least 2^-156, and the square of one of at least 2^-52, is not rounded at all.
//   - Arithmetic saturates at Max. No limit reaches Max, so that whatever does not
//     fit 256 bits is refused by every Meter.
//   - What a Meter has taken and what is reserved never exceed its limit together, and
//     a call that returns false has changed nothing.
//   - No operation allocates, but for Big, Bytes and FromBytes.
//
// # What it does not do
//
// It does not know what is added: that sums of these numbers bound a privacy loss
// is for package accounting to say. Nothing below 2^-208 can be told from 2^-208 when it
// is rounded up, nor from 0 when it is rounded down.
//
// # Concurrency
//
// An Amount is a value. A Meter belongs to one goroutine at a time.
package fixed
