// Package state keeps what every user has spent: the numbers in which privacy
// loss is counted, the budgets that accounts are checked against, the conversions between
// ways of stating a guarantee, and the accounts themselves.
//
// Beneath it: loss (the vocabulary), conversion (from one description of a loss to another), filter
// (how much may still be spent), odometer (how much was spent), individual (both for each user),
// pld and bucket (tighter composition), and compose, whose accountants.go lists every accountant;
// accountant.go here lists those that can hold a deployment's budget.
//
// # Guarantees
//
//   - Amounts are integers (Mu2, Precision, Delta). A charge is rounded up, a
//     budget is rounded down, nothing is ever accumulated in floating point.
//   - Arithmetic saturates towards refusal: a product or a sum that does not fit
//     is "not admitted", never a small number.
//   - A Budget is the greatest integer B² whose δ, computed with a proven error
//     bound and rounded upward, does not exceed the δ that was asked for.
//   - Spent + Reserved of an Account never exceeds B² under any sequence of Reserve and
//     Settle, and a failed call leaves the account as it was.
//   - An account that is not zero is never deleted from a Shard and never
//     lowered. The encodings are canonical: equal accounts, equal bytes.
//   - No exported function returns NaN.
//
// # What it does not do
//
// It does not draw noise, read a clock, know a user id (an AccountID is whatever
// 128 bits the caller derived) or know Beam and Kafka. It does not decide who is
// charged what: that a charge of c²·u covers a release of precision u to which a
// user contributed c is the caller's duty (the individual Gaussian filter:
// Koskela, Tobaben and Honkela, Theorem 11).
//
// # Concurrency
//
// The number types and Budget are values. An Account or a Shard belongs to one
// goroutine at a time.
package state
