// Package admin does what operators do to a deployment between runs: it winds up a generation so
// that the next one can begin, and refuses topics that a new deployment cannot begin on.
//
// Guarantees: a refused change leaves a run alone; an interrupted change leaves the generation in
// force as it was; the next one is put in force only once every settled turn is charged, a snapshot
// of every shard is on the ledger, and nothing of a later turn was published.
package admin
