// Package admin does what operators do to a deployment between runs: it winds up a generation so
// that the next one can begin, and refuses topics that a new deployment cannot begin on.
//
// Guarantees: a change that is interrupted has not happened; a generation is put in force only when
// every shard, charged, stands in a snapshot, and nothing of a later turn was published.
package admin
