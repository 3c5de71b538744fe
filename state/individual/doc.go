// Package individual checks every user against a budget of their own: each round
// leaves out the users whose loss no longer fits, instead of stopping for all when the
// first budget is used up.
//
// # What it promises
//
// Filter is adaptive composition with individual filtering: Algorithm 3 of Feldman
// and Zrnic (2021) over a Rényi or zCDP filter, Algorithm 1 of Koskela, Tobaben and
// Honkela over a GDP filter, and the same over any other. Everything released
// together is private, removing one user, to the budget of the filters: (α, B)-RDP
// (Feldman and Zrnic, Theorem 4.5), κ-zCDP (Remark 4.4), B-GDP (Koskela et al.,
// Theorem 12), or whatever the filter promises. This rests on the caller:
//
//   - A user's loss bounds what the round's mechanism reveals about this user on every
//     data set that has them, removing them (Definition 2.5, not 2.6): for a sum with
//     Gaussian noise, their own contribution over σ. A bound that is true only of the
//     data at hand is not enough: others' active sets would depend on this user.
//   - A loss is a function of the user's own data and of earlier releases. Nothing
//     else decides who is active, not even a cap on the number of users.
//   - The mechanism of a round reads the active users and no other user, and runs once.
//   - One key is one person (or whatever the promise is made to), in all rounds.
//
// # Leaving out and coming back
//
// There are two policies. ForRound is Algorithm 3 as printed: a user whose loss does not
// fit is left out of that round, pays nothing for it, and comes back when a later
// loss fits. With ForGood, users who were refused once stay out, which is the set S_t of
// Corollary 4.7. Then the answer covers fewer users, but never one who was missing before.
//
// Coming back is sound with every filter that is valid for adaptively chosen
// losses. For a single user, the rounds that leave them out are mechanisms of loss
// 0, so that the filtered rounds are one adaptive composition on which their filter
// never refuses; the proof of Feldman and Zrnic's Theorem 4.5 is this argument for
// Rényi divergence. For GDP it is Koskela et al.'s Theorem 11 on the filtered
// mechanisms: the proof of their Theorem 12 stops at the first refusal.
//
// # What it does not do
//
// Who is active, how many are, what is left of a budget and whether a round left
// users out depend on private data: publish none of it. Leaving users out biases
// whatever is computed on the rest. Accounts are kept in memory and are never deleted.
//
// # Storing and resuming
//
// MarshalBinary returns every account, in a versioned format and in the order of the users'
// keys. UnmarshalBinary continues exactly there, in an unused value that the constructor made with
// the same policy and budget. Keys are strings, integers, arrays of bytes, or have
// MarshalBinary and UnmarshalBinary; users' filters have both (all of package filter do). Store
// after Round and before its mechanism runs. A state is as private as the users' data, and an
// older one has more left than there is: see package filter.
//
// # Concurrency
//
// A Filter or a LinearQueries belongs to one goroutine at a time.
package individual
