package mechanisms_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// brokenGames is enough to refute the claims here, also without TOLLGATE_LONG.
const brokenGames = 8_000

// catches plays an adversary against a claim that is known to be false, and wants it refuted.
func catches(t *testing.T, claim loss.Approx, play adversary) {
	t.Helper()
	catchesIn(t, brokenGames, claim, play)
}

// catchesIn is catches with another number of games.
func catchesIn(t *testing.T, games int, claim loss.Approx, play adversary) {
	t.Helper()
	bound := lowerBound(play, claim.Delta, games, 1)
	t.Logf("claimed (%.4f, %g); shown at least %.4f", claim.Epsilon, claim.Delta, bound)
	if bound <= claim.Epsilon {
		t.Errorf("a broken filter passed: epsilon is at least %v, claimed %v", bound, claim.Epsilon)
	}
}

// TestAttackCatchesTwiceTheBudget: a Gaussian filter that takes 2·B² where B² was
// promised, as by counting in units of ρ = μ²/2.
func TestAttackCatchesTwiceTheBudget(t *testing.T) {
	honest := must.Have(accounting.NewGaussianFor(promise()))
	base := must.Have(accounting.NewGaussian(honest.Left().Mu * math.Sqrt2))
	var menu []offer[loss.GDP]
	for _, share := range shares() {
		g, run := gaussianGame(1 / (base.Left().Mu * math.Sqrt(share) * hair))
		menu = append(menu, offer[loss.GDP]{must.Have(g.GDP(1)), run})
	}
	catches(t, promise(), gambler(t, func() filter[loss.GDP] { return base.Fresh() }, menu))
}

// TestAttackCatchesAdmissionOnWhatWasSpent: an ex-post filter that admits a mechanism as long as
// anything is left and charges the realised loss, without checking its worst case (the condition of
// Rogers et al. 2023, Lemma 5.2). The same refiner that stays below the claim of
// accounting.NewExPost shows more.
func TestAttackCatchesAdmissionOnWhatWasSpent(t *testing.T) {
	claim := loss.Approx{Epsilon: 1}
	catches(t, claim, func(secret float64, src mechanisms.Source) float64 {
		spent := 0.0
		return refiner{
			open:   func(loss.Approx) bool { return spent < claim.Epsilon },
			settle: func(_, realised loss.Approx) { spent += realised.Epsilon },
			left: func() float64 {
				if spent < claim.Epsilon {
					return claim.Epsilon
				}
				return 0
			},
		}.play(secret, src)
	})
}

// TestAttackCatchesRefinementsThatAreNotReserved: the unified filter without its reservations:
// several Brownian refinements are open at once, and each would have fitted alone.
func TestAttackCatchesRefinementsThatAreNotReserved(t *testing.T) {
	base := unified()
	ladder := brownianLadder(base.Left().Rho)
	catches(t, promise(), func(secret float64, src mechanisms.Source) float64 {
		f, open := base.Fresh(), 0
		for range 8 {
			if f.Fits(ladder[3].rho) { // nothing was spent yet
				open++
			}
		}
		score := 0.0
		for range open {
			ratio, _ := refineBrownian(ladder, secret, src)
			score += ratio
		}
		return score
	})
}
