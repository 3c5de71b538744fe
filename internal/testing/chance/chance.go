package chance

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// Trials returns the number of draws for a test: full if long tests run, else a tenth of that.
func Trials(full int) int {
	if !long.On() {
		return full / 10
	}
	return full
}

// CheckRate fails the test if the number of successes in n draws does not fit the probability p.
// Its false-reject rate is below 2e-8 per call. P(at most k) for k < n·p, and P(at least k) for k >
// n·p, are at most e^(−n·KL(k/n‖p)) for every n and p (Hoeffding, 1963), even for rare events.
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

// limit is ln(2/2e-8): about 6 deviations for a nearly normal law.
var limit = math.Log(2 / 2e-8)
