package chance

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// Trials returns how many draws a test makes: full if long tests run, else a tenth of full.
func Trials(full int) int {
	if !long.On() {
		return full / 10
	}
	return full
}

// CheckRate fails the test if the number of successes in n draws does not fit the probability p. It
// fails a correct program with a probability below 2e-8. P(at most k) for k < n·p, and P(at least
// k) for k > n·p, are at most e^(−n·KL(k/n‖p)) for all n and p, even for rare events (Hoeffding,
// 1963).
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

// limit is ln(2/2e-8), which is about 6 standard deviations for a nearly normal distribution.
var limit = math.Log(2 / 2e-8)
