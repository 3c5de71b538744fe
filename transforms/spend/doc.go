// Package spend decides who is counted and what everybody pays: clipping,
// admission, charging, and the ledger that makes both repeatable. It knows
// neither Beam nor Kafka; it works on one shard and one turn at a time.
//
// A turn in five steps: charge the turn before from what was released; put the
// windows together that end with this turn, from the slices that were kept and
// its own; clip and admit every user of them, holding the whole worst case; make
// slice and decisions durable in the ledger; hand on the counts of the admitted
// users.
//
// Guarantees: spent plus held never exceeds the budget; a user's admission and
// charge depend on that user's own records and on released facts only; the same
// records give the same delta, byte for byte, in any order of arrival; a delta
// in the ledger is obeyed, never rewritten, and one that differs from what the
// records give stops the run; nothing is handed on before the delta is durable.
//
// Not guaranteed: that a counted key is released at all; see package
// noisereduction and privacy.md for thresholds.
package spend
