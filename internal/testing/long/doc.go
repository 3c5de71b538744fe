// Package long keeps long tests out of `go test ./...`: TOLLGATE_LONG=1 runs them, as .ci/run does.
//
// Guarantees: a long test is skipped, with the way to run it.
//
// Not guaranteed: that a test says so when it only draws fewer cases.
package long
