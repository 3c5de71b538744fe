// Package reading is READ: it takes an epoch, reads the events topic and the control log with one
// poll, decides the outcome of every record (classify.go),
// poll.go by the CLOSEs), closes turns (closing.go) and opens them
// for the account shards, and finds out at every start where to go on (restart.go) and
// after every step whether the run ends (source.go, finished: a drain, the end of the input).
//
// Guarantees: which records belong to a turn is written in its CLOSE before anything of it is
// decided, and reading again gives the same contributions or an error. Every record has exactly one
// fate, which the tallies of a CLOSE count. Not guaranteed: progress while a partition is silent
// and time.idle_grace has not passed.
package reading
