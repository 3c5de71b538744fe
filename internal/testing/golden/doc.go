// Package golden compares what a test made with a file that a person has looked at.
//
// `go test ./some/package -update` writes the files of the tests that run. Look at
// the difference before it is kept: a golden file says what was, not what is right.
package golden
