// Package spend decides which users are counted and what each of them pays: clipping, admission,
// charging, and the ledger that makes both repeatable. It knows neither Beam nor Kafka; it works on
// one shard and one turn at a time. Who is left out for budget is decided in admit.go, by
// accounts.Account.Fits; what is written to the ledger, and when, in ledger.go.
//
// A turn takes five steps: charge the turn before for what was released; assemble the windows that
// end with this turn, from the slices that were kept and the turn's own; clip and admit each of
// their users, and reserve the whole worst case; make the slice and the decisions durable in the
// ledger; hand on the counts of the admitted users.
//
// Guarantees: spent plus reserved never exceeds the budget; a user's admission and
// charge depend on that user's own records and on released facts only; the same
// records give the same delta, byte for byte, in any order of arrival; a delta
// in the ledger holds and is never rewritten, and one that differs from what the
// records give stops the run; nothing is handed on before the delta is durable.
//
// Not guaranteed: that a counted key is released at all; see package
// noisereduction for thresholds.
package spend
