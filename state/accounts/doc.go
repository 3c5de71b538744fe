// Package accounts records the loss of every user. It defines an Account for each user and budget
// period, a Shard of many accounts, and the encoding of stored accounts.
//
// # Guarantees
//
//   - Spent + Reserved of an Account never exceeds B² under any sequence of Reserve and Settle. A
//     call that fails does not change the account. The filters of package accounting use the same
//     code to decide what fits.
//   - A nonzero account is never lowered. Only Shard.DropBefore deletes nonzero accounts.
//   - The encoding is canonical: equal accounts have equal bytes.
//
// # Limits
//
// The package does not draw noise, read a clock, see user ids (an ID is any 128 bits from the
// caller) or depend on Beam or Kafka. The caller determines the charges. By the individual Gaussian
// filter (Koskela, Tobaben and Honkela, Theorem 11), a charge of c²·u covers a contribution c to a
// release with precision u.
//
// An Account or a Shard must be used by only one goroutine at a time.
package accounts
