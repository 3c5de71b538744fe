package await

import (
	"testing"
	"time"
)

// pause is the time between two checks. It is short compared with a test, and long enough not to
// slow down the awaited work.
const pause = 5 * time.Millisecond

// That returns once holds returns true. If this takes longer than allowed, That fails the test with
// the name of the condition. It checks at least once. Only the test's goroutine may call That.
func That(t testing.TB, allowed time.Duration, condition string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(pause) {
		if time.Since(began) > allowed {
			t.Fatalf("waited %v in vain: %s", allowed, condition)
		}
	}
}
