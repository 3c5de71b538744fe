// Package commands is the command line of the program tollgate: it parses flags, calls the packages
// that do the work, and prints.
//
// A configuration file is read by internal/app/config (load.go) for configfile.go, the demo's flags
// in demo_settings.go. SIGINT and SIGTERM are taken in signals.go: they drain the run, which ends
// in pipeline/internal/reading (run_end.go) once the open turn is settled, or by
// pipeline/internal/watch where Kafka does not let it.
//
// Output for people is a table; with --format json, stdout has JSON and nothing
// else. Progress and logs go to stderr. Neither has a user id, a key or a raw
// count in it: released values only, but for the demo's summary on stderr, which is exact, for the
// holder of the input.
//
// Exit codes:
//
//   - 0: done; also if a signal ended the run after its open turn
//   - 1: a broker, a topic, an input file or an output failed; the deployment has stopped itself
//     (STOP); another run has taken over; or --wait ran out
//   - 2: a flag is wrong
//   - 3: the configuration or a key file is wrong; the configuration is not the one that the
//     deployment has; or --strict turned a warning into an error
//   - 4: with --strict, at the end of demo or of a run that ends: more than half of the records
//     were lost before counting
package commands
