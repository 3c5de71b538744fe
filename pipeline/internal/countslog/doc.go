// Package countslog reads the counts topic: for a run, what was published after the settled turn,
// and whether the topics are still those that control speaks of (intact.go); for other readers,
// value after value.
//
// Guarantees: a value that was published and is not settled is found, or its absence is an error. A
// foreign record is passed over and told.
package countslog
