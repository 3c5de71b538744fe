// Package spend decides which events of each user count, and how much the user pays for them. It
// depends on neither Beam nor Kafka. It works on one shard and one turn at a time.
//
// For each turn, a shard performs these steps:
//
//  1. charge the previous turn for its releases (charge.go);
//  2. assemble the windows that end with this turn, from the kept slices and the turn's own
//     (windows.go);
//  3. admit each of their users (admit.go): apply the caps (clip.go), leave out the events that the
//     budget does not pay for (affordable.go), and reserve the worst-case cost of the others;
//  4. make the slice and the decisions durable in the ledger (retain.go, ledger.go);
//  5. pass on the counts of the admitted users (partials.go).
//
// Guarantees: the sum of spent and reserved amounts never exceeds the budget. A user's admission
// and charge depend only on that user's own records and on released facts. The same records give
// the same delta, byte for byte, in any order of arrival. A delta in the ledger is never rewritten:
// if the records give a different delta, the deployment stops. No count leaves the shard before the
// delta is durable.
//
// Not guaranteed: that a counted key is released; see package noisereduction for thresholds.
package spend
