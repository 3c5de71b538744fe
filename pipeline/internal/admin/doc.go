// Package admin makes the changes that operators make between runs: it winds up a generation so
// that the next one can begin.
//
// Guarantees: a refused change does not disturb a run; an interrupted change leaves the generation
// in force unchanged; the next generation is put in force only once every settled turn is charged,
// a snapshot of every shard is on the ledger, and nothing of a later turn was published.
package admin
