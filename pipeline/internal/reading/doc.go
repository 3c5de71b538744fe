// Package reading is READ: it starts an epoch, reads the events topic and the control log with one
// poll, decides the outcome of every record (classify.go), closes turns (closing.go), and opens
// them for the account shards (open.go). At every start it finds out where to continue
// (restart.go), and after every step whether the run ends: a drain, or the end of the input
// (run_end.go).
//
// Guarantees: which records belong to a turn is written in its CLOSE before anything of it is
// decided, and reading again gives the same contributions or an error. Every record has exactly one
// outcome, which the tallies of a CLOSE count. Not guaranteed: progress while a partition is silent
// and time.idle_grace has not passed (idle.go).
package reading
