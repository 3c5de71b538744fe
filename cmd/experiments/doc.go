// Command experiments repeats the experiments of the papers that Tollgate is built on. It parses
// flags and calls internal/app/experiment; docs/experiments.md has its results.
//
// Tables go to stdout, with --format json as JSON; progress and errors go to stderr.
//
// Exit codes: 0 done; 1 an error of a file; 2 an error in the flags.
package main
