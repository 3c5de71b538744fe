package await

import (
	"testing"
	"time"
)

// pause is how long That waits between two looks: short enough not to be felt in a test's time,
// and long enough to leave the machine to what is waited for.
const pause = 5 * time.Millisecond

// That returns once a condition holds. It fails the test where that takes longer than the time
// allowed, with what was waited for: "the broker is asked". The condition is called by the
// caller's goroutine, which must be the test's, and at least once.
func That(t testing.TB, allowed time.Duration, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(pause) {
		if time.Since(began) > allowed {
			t.Fatalf("waited %v for this, which did not happen: %s", allowed, what)
		}
	}
}
