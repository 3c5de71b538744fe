// Package runseed gives random tests their seeds. Without TOLLGATE_SEED, a test draws the same
// cases in every run, so that a failure is due to the change under test and not to luck. With
// TOLLGATE_SEED, each test derives its own seed from the variable and the test's name. If it fails,
// it prints the variable. .ci/run derives the variable from the code.
//
// A test that draws with math/rand takes its random source from PCG. A test file that draws with
// rapid imports this package for its side effect:
//
//	import _ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
//
// Go's cache of test results does not know that rapid depends on the variable. So pass -count 1 if
// you set the variable yourself:
//
//	TOLLGATE_SEED=7 RAPID_CHECKS=10000 go test -count 1 ./state/...
//
// # Not guaranteed
//
// In tests with rapid, rapid's options RAPID_SEED and -rapid.seed override TOLLGATE_SEED.
package runseed
