// Package countslog reads the counts topic. For a run it finds the values that were published after
// the settled turn, and checks whether the topics are still those that control refers to
// (intact.go). For other readers it returns value after value.
//
// Guarantees: a published value whose turn is not settled is found, or its absence is an error. A
// foreign record is skipped and logged.
package countslog
