// Package watch monitors a run from outside. It logs stalls, with their causes and remedies
// (stall.go); unreachable brokers (brokers.go); and, coarsely, lost records (losses.go,
// outcomes.go). It predicts when the next counts can appear (outlook.go), decides whether a run is
// ready (ready.go), and ends a drain that Kafka prevents (watch.go).
//
// Guarantees: a stall is logged after half a minute, an unreachable broker after two seconds, and
// losses at once. Each message is repeated at growing intervals, and a last message says that the
// condition is over. No message contains a user id, a key or a number of records. The package does
// not influence a run, except that it ends a drain that cannot finish. Not guaranteed: that
// messages about losses protect a user who has many of the records.
package watch
