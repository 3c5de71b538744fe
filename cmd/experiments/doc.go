// Command experiments repeats the experiments of the papers that Tollgate is built on.
// docs/experiments.md shows the results.
//
// Tables go to stdout, as JSON with --format json; progress and errors go to stderr.
//
// Exit codes: 0 done; 1 an error with a file; 2 an error in the flags.
package main
