// Package long keeps long tests out of `go test ./...`. TOLLGATE_LONG=1 runs them, as .ci/run does.
//
// A skipped test prints how to run it. A test that only draws fewer cases prints nothing.
package long
