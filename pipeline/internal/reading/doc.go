// Package reading implements READ. READ starts an epoch, reads the events topic and the control log
// with one poll, decides the outcome of every record (classify.go), closes turns (closing.go), and
// opens them for the account shards (open.go). At every start it determines where to continue
// (restart.go). In every step it decides whether the run ends, because of a drain or the end of the
// input (run_end.go).
//
// Guarantees: a CLOSE fixes which records belong to a turn before anything about the turn is
// decided, and reading again gives the same contributions or an error. Every record has exactly one
// outcome, which the tallies of one CLOSE count. Not guaranteed: progress while a partition is
// silent and time.idle_grace has not passed (idle.go).
package reading
