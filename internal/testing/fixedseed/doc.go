// Package fixedseed makes property tests draw the same cases in every run, so that
// a failure says something about the change that is tested and not about luck. A
// test file imports it for its effect:
//
//	import _ "github.com/tollgate-dp/tollgate/internal/testing/fixedseed"
//
// RAPID_SEED=7 in the environment, or -rapid.seed 7, draws others, and -rapid.seed 0
// other ones each time; RAPID_CHECKS=10000 draws more of them. To look for cases
// that have not been seen before:
//
//	RAPID_SEED=$RANDOM RAPID_CHECKS=10000 go test ./state/...
//
// # Not guaranteed
//
// Tests that draw with other generators keep seeds of their own.
package fixedseed
