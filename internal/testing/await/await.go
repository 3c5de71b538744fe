package await

import (
	"testing"
	"time"
)

// pause is the time between two checks of That: short beside a test, and long enough not to slow
// down the awaited work.
const pause = 5 * time.Millisecond

// That returns once a condition holds. It fails the test after the limit, and names the condition:
// "the broker is asked". The condition is called by the caller's goroutine, which must be the
// test's, and at least once.
func That(t testing.TB, allowed time.Duration, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(pause) {
		if time.Since(began) > allowed {
			t.Fatalf("waited %v for this, which did not happen: %s", allowed, what)
		}
	}
}
