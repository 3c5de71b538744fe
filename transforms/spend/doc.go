// Package spend decides which users are counted and the charge of each: clipping, admission,
// charging, and the ledger that makes both repeatable. It depends on neither Beam nor Kafka; it
// works on one shard and one turn at a time. admit.go decides who is left out for lack of budget
// (accounts.Account.Fits), charge.go computes the others' charges, and ledger.go decides the
// ledger's records and their times.
//
// For each turn, a shard does this:
//
// 1. charge the turn before for its releases (charge.go); 2. assemble the windows that end with
// this turn, from the kept slices and the turn's own (windows.go); 3. clip and admit each of their
// users, and reserve the whole worst case (clip.go, admit.go); 4. make the slice and the decisions
// durable in the ledger (ledger.go); 5. hand on the counts of the admitted users (partials.go).
//
// Guarantees: spent plus reserved never exceeds the budget. A user's admission and charge depend
// only on that user's own records and on released facts. The same records give the same delta, byte
// for byte, in any order of arrival. A delta in the ledger is final: it is never rewritten, and if
// the records give another one, the deployment stops. Nothing leaves the shard before the delta is
// durable.
//
// Not guaranteed: that a counted key is released at all; see package noisereduction for thresholds.
package spend
