// Package watch monitors a run from outside. It logs that nothing moves, why, and what to do about
// it (stall.go); which brokers are away (brokers.go); and coarsely which records are lost
// (losses.go, outcomes.go). It predicts when the next counts can appear (outlook.go), and ends a
// run that is to be drained while Kafka prevents it (watch.go).
//
// Guarantees: a stall is logged after half a minute, an unreachable broker after two seconds, and
// losses at once; each again at growing intervals, and when it is over. No text contains a user id,
// a key or a number of records. The package does not change what a run does, except that it ends a
// drain that cannot finish. Not guaranteed: that the lines about losses protect a user who has many
// of the records.
package watch
