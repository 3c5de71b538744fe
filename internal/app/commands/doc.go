// Package commands is the command line of the program tollgate: it parses flags, calls the packages
// that do the work, and prints. Each command or group of commands has a folder; folder command
// holds the parts that they share.
//
// command/configfile.go reads a configuration file through internal/app/config (load.go), and
// demo/check_flags.go checks the demo's flags. command/signals.go handles SIGINT and SIGTERM: they
// drain the run, which ends in pipeline/internal/reading (run_end.go) once the open turn is
// settled. If Kafka prevents that, pipeline/internal/watch ends the run.
//
// Output for people is a table; with --format json, stdout has nothing but JSON. Progress and logs
// go to stderr. Both contain released values only: no user id, key or raw count. The exception is
// the demo's summary on stderr, which is exact, for the owner of the input. tollgate.txt explains
// the exit codes.
package commands
