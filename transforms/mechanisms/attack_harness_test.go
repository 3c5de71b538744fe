package mechanisms_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// fast is a Source for attacks: they concern the accounting, and a fast generator
// lets them see more of it.
type fast struct{ *rand.PCG }

func (f fast) Word() uint64 { return f.Uint64() }

func seeded(seed uint64) fast {
	return fast{
		rand.NewPCG(seed, 0x61747461636b)} // fixed seed: not every seed refutes a broken filter in a short run
}

// falseAlarm is the probability, over the seeds, that an attack reports a leak beyond a claim that
// holds.
const falseAlarm = 1e-5

// filter is what an adversary asks: one of package accounting, or a broken one.
type filter[L any] interface {
	Fits(L) bool
	Spend(L) error
}

// An adversary interacts with mechanisms on the value secret, 0 or 1. It returns the log-likelihood
// ratio of its observations, 1 against 0.
type adversary func(secret float64, src mechanisms.Source) float64

// lowerBound plays an adversary on both values and returns an ε that the interaction exceeds at
// delta: no (ε', delta) with ε' below it is true, except with probability falseAlarm. The event is
// "a likelihood ratio of at least t" or its mirror image, chosen in games of its own; then P(event
// | one value) is bounded from below and P(event | the other) from above by Clopper and Pearson.
func lowerBound(play adversary, delta float64, games int, seed uint64) float64 {
	pilot := [2][]float64{sample(play, 0, games/3, seed), sample(play, 1, games/3, seed+1)}
	fresh := [2][]float64{sample(play, 0, games, seed+2), sample(play, 1, games, seed+3)}
	mirrored, threshold := chooseEvent(pilot, delta)
	return evaluate(fresh, mirrored, threshold, delta)
}

func sample(play adversary, secret float64, n int, seed uint64) []float64 {
	src, scores := seeded(seed), make([]float64, n)
	for i := range scores {
		scores[i] = play(secret, src)
	}
	return scores
}

// chooseEvent returns the direction and the threshold of the greatest bound among 100
// quantiles of the scores.
func chooseEvent(scores [2][]float64, delta float64) (mirrored bool, threshold float64) {
	best := math.Inf(-1)
	for _, m := range []bool{false, true} {
		candidates := slices.Clone(scores[1])
		if m {
			candidates = slices.Clone(scores[0])
		}
		slices.Sort(candidates)
		for q := range 100 {
			t := candidates[q*len(candidates)/100]
			if bound := evaluate(scores, m, t, delta); bound > best {
				best, mirrored, threshold = bound, m, t
			}
		}
	}
	return mirrored, threshold
}

// evaluate returns ln((p − δ)/p') with p bounded from below under the value that makes
// the event likelier, p' from above under the other.
func evaluate(scores [2][]float64, mirrored bool, threshold, delta float64) float64 {
	likely, unlikely := scores[1], scores[0]
	in := func(s float64) bool { return s >= threshold }
	if mirrored {
		likely, unlikely = unlikely, likely
		in = func(s float64) bool { return s <= threshold }
	}
	p := atLeast(count(likely, in), len(likely), falseAlarm/2)
	q := atMost(count(unlikely, in), len(unlikely), falseAlarm/2)
	if p <= delta {
		return 0
	}
	return math.Log((p - delta) / q)
}

func count(scores []float64, in func(float64) bool) int {
	n := 0
	for _, s := range scores {
		if in(s) {
			n++
		}
	}
	return n
}

// atLeast returns the lower limit of Clopper and Pearson (1934) for a probability, from k
// successes of n: wrong with probability miss at most.
func atLeast(k, n int, miss float64) float64 {
	if k == 0 {
		return 0
	}
	return mathext.InvRegIncBeta(float64(k), float64(n-k+1), miss)
}

// atMost returns the upper limit.
func atMost(k, n int, miss float64) float64 {
	if k == n {
		return 1
	}
	return mathext.InvRegIncBeta(float64(k+1), float64(n-k), 1-miss)
}

// attackGames returns how often each value is played after the pilot.
func attackGames() int {
	if !long.On() {
		return 3_000
	}
	return 50_000
}

// holds plays an adversary against a claim: the bound it reaches must stay below the
// claim, and above the fraction bite of it, so that the attack is known to have teeth.
// Without TOLLGATE_LONG the second is not asked.
func holds(t *testing.T, claim loss.Approx, bite float64, play adversary) {
	t.Helper()
	holdsIn(t, attackGames(), claim, bite, play)
}

// holdsIn is holds with another number of games.
func holdsIn(t *testing.T, games int, claim loss.Approx, bite float64, play adversary) {
	t.Helper()
	bound := lowerBound(play, claim.Delta, games, 1)
	t.Logf("claimed (%.4f, %g); shown at least %.4f, %.0f%%", claim.Epsilon, claim.Delta, bound,
		100*bound/claim.Epsilon)
	if bound > claim.Epsilon {
		t.Errorf("epsilon is at least %v at delta %v, claimed %v", bound, claim.Delta, claim.Epsilon)
	}
	if bound < bite*claim.Epsilon && long.On() {
		t.Errorf("the attack shows %v of the claimed %v, want at least the fraction %v", bound, claim.Epsilon, bite)
	}
}

// offer is a mechanism on a menu: its price, and one run of it, which returns the log-likelihood
// ratio of its release.
type offer[L any] struct {
	price L
	run   func(secret float64, src mechanisms.Source) float64
}

// gambler takes from a menu, dearest first, until nothing fits. It adapts to its observations: if
// it is behind, it starts from the second offer to keep the large bets for later.
func gambler[L any](t testing.TB, fresh func() filter[L], menu []offer[L]) adversary {
	return func(secret float64, src mechanisms.Source) float64 {
		f, score := fresh(), 0.0
		for range 64 {
			i := choose(f, menu, score)
			if i < 0 {
				break
			}
			if err := f.Spend(menu[i].price); err != nil {
				t.Fatalf("an offer that fits was refused: %v", err)
			}
			score += menu[i].run(secret, src)
		}
		return score
	}
}

// choose returns the index of the next offer, -1 if none fits.
func choose[L any](f filter[L], menu []offer[L], score float64) int {
	order := 0
	if score < 0 {
		order = 1
	}
	for k := range menu {
		if i := (k + order) % len(menu); f.Fits(menu[i].price) {
			return i
		}
	}
	return -1
}

// gaussianGame runs Gaussian noise of a deviation on the value: N(0, σ²) against N(1, σ²).
func gaussianGame(sigma float64) (m *mechanisms.Gaussian, run func(float64, mechanisms.Source) float64) {
	m = must.Have(mechanisms.NewGaussian(sigma))
	return m, func(secret float64, src mechanisms.Source) float64 {
		return (must.Have(m.Release(secret, src)) - 0.5) / (sigma * sigma)
	}
}

func laplaceRatio(y, scale float64) float64 { return (math.Abs(y) - math.Abs(y-1)) / scale }
