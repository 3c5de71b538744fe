// Package accounts keeps what every user has spent: an Account for each user and budget period,
// a Shard of many accounts, and their encoding at rest.
//
// # Guarantees
//
//   - Spent + Reserved of an Account never exceeds B² under any sequence of Reserve and Settle,
//     and a failed call leaves the account as it was. What fits is decided where the filters of
//     package accounting decide it.
//   - An account that is not zero is never deleted from a Shard and never lowered.
//   - The encoding is canonical: equal accounts have equal bytes.
//
// # What it does not do
//
// It does not draw noise, read a clock, know a user id (an ID is whatever 128 bits the caller
// derived) or know Beam and Kafka. The caller decides who is charged what: that a charge of c²·u
// covers a release of precision u to which a user contributed c follows from the individual
// Gaussian filter (Koskela, Tobaben and Honkela, Theorem 11).
//
// An Account or a Shard belongs to one goroutine at a time.
package accounts
