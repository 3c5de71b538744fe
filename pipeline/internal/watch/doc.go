// Package watch monitors a run from outside: it logs that nothing moves, why, and what to do about
// it (stall.go); which brokers are away (brokers.go); coarsely what becomes of the records
// (losses.go, outcomes.go); and when the next counts can appear (outlook.go). It ends a run that is
// to be drained while Kafka does not let it (watch.go).
//
// Guarantees: a stall is logged after half a minute, a broker that cannot be reached after two
// seconds, losses at once; each again at growing intervals, and when it is over. No text has a user
// id, a key or a number of records. It changes nothing of what a run does, but for the end of a
// drain that cannot finish. Not guaranteed: that what is said of losses protects a user who has
// many of the records.
package watch
