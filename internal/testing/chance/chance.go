package chance

import (
	"math"
	"testing"
)

// Trials is how many draws a test takes: a tenth of full with -short.
func Trials(full int) int {
	if testing.Short() {
		return full / 10
	}
	return full
}

// CheckRate fails when successes out of n are further than 5 deviations from
// probability p: false-reject rate 6e-7 per call.
func CheckRate(t testing.TB, name string, successes, n int, p float64) {
	t.Helper()
	limit := 5 * math.Sqrt(float64(n)*p*(1-p))
	if diff := math.Abs(float64(successes) - float64(n)*p); diff > limit+1 {
		t.Errorf("%s: %d of %d, expected probability %.6f (off by %.0f, limit %.0f)", name, successes, n, p, diff, limit)
	}
}
