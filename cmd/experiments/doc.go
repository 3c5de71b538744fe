// Command experiments repeats the experiments of the papers that Tollgate is built on.
// docs/experiments.md shows the results.
//
// Tables go to stdout (with --format json, as JSON). Progress and errors go to stderr.
//
// Exit codes: 0 done; 1 an error with a file; 2 invalid flags or arguments.
package main
