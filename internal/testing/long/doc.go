// Package long keeps long tests out of `go test ./...`: TOLLGATE_LONG=1 runs them, as .ci/run does.
//
// Guarantees: a skipped test prints how to run it. Not guaranteed: that a test prints anything if
// it only draws fewer cases.
package long
