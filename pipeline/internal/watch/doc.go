// Package watch looks after a run from outside: it tells that nothing moves, why, and what to do
// about it; and it ends a run that is to be drained while Kafka does not let it.
//
// Guarantees: a stall is told after half a minute, again at growing intervals, and when it is over.
// It changes nothing of what a run does, but for the end of a drain that cannot finish.
package watch
