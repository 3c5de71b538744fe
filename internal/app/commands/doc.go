// Package commands is the command line of the program tollgate: it parses flags, calls the packages
// that do the work, and prints. Each command or group of commands has a folder; command has what
// they share.
//
// command/configfile.go reads a configuration file through internal/app/config (load.go), and
// demo/settings.go reads the demo's flags. command/signals.go handles SIGINT and SIGTERM: they
// drain the run, which ends in pipeline/internal/reading (run_end.go) once the open turn is
// settled. If Kafka prevents that, pipeline/internal/watch ends the run.
//
// Output for people is a table; with --format json, stdout has JSON and nothing
// else. Progress and logs go to stderr. Both contain released values only: no user id, key or raw
// count. The exception is the demo's summary on stderr: it is exact, for the owner of the input.
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
//   - 5 and 6: of audit: nothing differs, and not everything could be checked; something differs
package commands
