package chance

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// Trials is how many draws a test takes: a tenth of full unless long tests run.
func Trials(full int) int {
	if !long.On() {
		return full / 10
	}
	return full
}

// CheckRate fails when successes out of n are too many or too few for probability p: false-reject
// rate below 2e-8 per call. P(at most k) for k below n·p, and P(at least k) for k above it, are at
// most e^(−n·KL(k/n‖p)) for every n and p (Hoeffding, 1963): a rare event has no normal law.
func CheckRate(t testing.TB, name string, successes, n int, p float64) {
	t.Helper()
	rate := float64(successes) / float64(n)
	term := func(a, b float64) float64 {
		if a == 0 {
			return 0
		}
		return a * math.Log(a/b)
	}
	if divergence := float64(n) * (term(rate, p) + term(1-rate, 1-p)); !(divergence <= limit) {
		t.Errorf("%s: %d of %d, expected probability %.6g (n·KL %.1f, limit %.1f)", name, successes, n, p, divergence,
			limit)
	}
}

// limit is ln(2/2e-8): some 6 deviations where the law is near the normal one.
var limit = math.Log(2 / 2e-8)
