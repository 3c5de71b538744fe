// Package golden compares a test's output with a file that somebody has reviewed.
//
// `go test ./some/package -update` writes the files of the tests that run. Review the difference
// before you commit it: a golden file holds a past output, which need not be right.
package golden
