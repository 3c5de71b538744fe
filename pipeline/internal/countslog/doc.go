// Package countslog reads the counts topic for a run that has to know what was published after the
// settled turn, and for all who read it record after record.
//
// Guarantees: a value that was published and is not settled is found, or its absence is an error. A
// foreign record is passed over and told.
package countslog
