// Package accounts records the loss of every user: an Account for each user and budget period, a
// Shard of many accounts, and their encoding at rest.
//
// # Guarantees
//
//   - Spent + Reserved of an Account never exceeds B² under any sequence of Reserve and Settle, and
//     a failed call leaves the account as it was. The same code decides what fits in the filters of
//     package accounting.
//   - An account that is not zero is never deleted from a Shard and never lowered.
//   - The encoding is canonical: equal accounts have equal bytes.
//
// # Limits
//
// The package does not draw noise, read a clock, see user ids (an ID is any 128 bits that the
// caller derived) or depend on Beam or Kafka. The caller decides the charges: a charge of c²·u
// covers a contribution c to a release with precision u, which follows from the individual Gaussian
// filter (Koskela, Tobaben and Honkela, Theorem 11).
//
// An Account or a Shard belongs to one goroutine at a time.
package accounts
