// Package golden compares a test's output with a file that somebody has reviewed.
//
// `go test ./some/package -update` writes the golden files of the tests that run. Review the
// difference before you commit it: a golden file holds an earlier output, which need not be right.
package golden
