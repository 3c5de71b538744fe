// Command runner is tollgate's command line: it parses flags, calls the
// packages that do the work, and prints.
//
// A configuration file is read by internal/config (load.go) for configfile.go, the demo's flags
// in demo_settings.go. SIGINT and SIGTERM are taken in signals.go: they drain the run, which ends
// in pipeline/internal/reading (source.go, finished) once the open turn is settled, or by
// pipeline/internal/watch where Kafka does not let it.
//
// Output for people is a table; with --format json, stdout has JSON and nothing
// else. Progress and logs go to stderr. Neither has a user id, a key or a raw
// count in it: released values only, but for the demo's summary on stderr, which is exact, for the
// holder of the input.
//
// Exit codes: 0 done, or ended by a signal after the open turn; 1 an error of a broker,
// a topic, an input file or an output, a STOP, another run has taken over, or --wait was
// over; 2 an error in the flags; 3 an error in the configuration or in a file of keys, a
// configuration that is not that of the deployment, or something that only --strict refuses;
// 4 with --strict, more than half of the records lost before counting, at the end of demo or of
// a run that ends.
package main
