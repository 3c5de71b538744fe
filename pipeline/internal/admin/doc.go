// Package admin makes the changes that operators request between runs. It winds up a generation so
// that the next one can begin, and removes users. It also reads accounts.
//
// Guarantees: a change that fails its checks does not disturb a run, and an interrupted change
// leaves the generation in force as it is. The next generation is put in force only once every
// settled turn is charged, a snapshot of every shard is on the ledger, and no value of a later turn
// was published.
package admin
