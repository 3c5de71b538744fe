// Package countslog reads the counts topic as a run does that has to know what was published: after
// the settled turn, and record by record.
//
// Guarantees: a value that was published and is not settled is found, or its absence is an error. A
// record that is not the deployment's is passed over and told.
package countslog
