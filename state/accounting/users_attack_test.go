package accounting_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// digits is a seeded mechanisms.Source.
type digits struct{ *rand.PCG }

func (d digits) Word() uint64 { return d.Uint64() }

// gaussianNoise returns mechanisms.GaussianNoise, with each σ's mechanism made once: most of
// the time of the games went into that.
func gaussianNoise(src mechanisms.Source) accounting.Noise {
	made := map[float64]*mechanisms.Gaussian{}
	return func(total int64, sigma float64) (float64, error) {
		if made[sigma] == nil {
			g, err := mechanisms.NewGaussian(sigma)
			if err != nil {
				return 0, err
			}
			made[sigma] = g
		}
		return made[sigma].Release(float64(total), src)
	}
}

// level is the probability that one Clopper-Pearson bound of this file is wrong.
const level = 1e-9

// atLeast and atMost are the Clopper-Pearson bounds on the probability of an event that k of n
// draws had.
func atLeast(k, n int) float64 {
	if k == 0 {
		return 0
	}
	return mathext.InvRegIncBeta(float64(k), float64(n-k+1), level)
}

func atMost(k, n int) float64 {
	if k == n {
		return 1
	}
	return mathext.InvRegIncBeta(float64(k+1), float64(n-k), 1-level)
}

// attack plays one deployment of linear queries against the user "target", present or not, and
// returns the log-likelihood ratio of all released sums. The adversary knows all other users, and
// chooses how much the target contributes from the ratio so far: large steps while it is low, small
// ones when it is high. It asks for more than is left, too, so that rounds without the target and
// later ones with it occur, and uses up the whole budget.
func attack(present bool, noise accounting.Noise) float64 {
	const norm, kappa, rounds = 100, 0.5, 40
	q := must.Have(accounting.NewLinearQueries[string](norm, kappa, accounting.ForRound, noise))
	variance := q.Sigma() * q.Sigma()
	left := accounting.SquaredNorm(norm) // the target's, as the adversary works it out
	ratio := 0.0
	for round := range rounds {
		ask := int64(4)
		switch {
		case round >= rounds-5:
			ask = 1 // uses up the rest
		case ratio > 1.5:
			ask = 2
		case ratio < -1:
			ask = 7
		}
		values := vectors(pair[[]int64]{"other", []int64{3}}, pair[[]int64]{"target", []int64{ask}})
		if !present {
			values = values[:1]
		}
		known := 0.0
		if q.Left("other") >= 9 {
			known = 3
		}
		answer := must.Have(q.Answer(1, all(values)))[0] - known
		shown := 0.0
		if s := accounting.SquaredNorm(ask * ask); s <= left {
			left -= s
			shown = float64(ask)
		}
		ratio += (answer*shown - shown*shown/2) / variance
	}
	return ratio
}

// The claim of κ = 1/2 with Gaussian noise is 1-GDP: at ε = 1, δ = 0.126936737506644
// (Balle and Wang, 2018, Theorem 8). The adversary's best test, a ratio above ε,
// must not prove more, at a confidence of 1 − 2e-9. It uses up the budget, so that
// its estimate is the claim itself but for chance: six standard deviations (false
// reject 2e-9) are allowed, a part of 0.2 of the claim at 30,000 runs.
func TestAdaptiveAttackStaysBelowTheClaimAndBites(t *testing.T) {
	const claim, epsilon = 0.126936737506644, 1.0
	runs := 30000
	if !long.On() {
		runs = 3000
	}
	noise := gaussianNoise(digits{runseed.PCG(t, 21, 21)})
	with, without := 0, 0
	for range runs {
		if attack(true, noise) > epsilon {
			with++
		}
		if attack(false, noise) > epsilon {
			without++
		}
	}
	n := float64(runs)
	proven := atLeast(with, runs) - math.E*atMost(without, runs)
	estimate := float64(with)/n - math.E*float64(without)/n
	t.Logf("%d and %d of %d runs: δ at ε = 1 is proven to be at least %.4f, estimated %.4f; the claim is %.4f",
		with, without, runs, proven, estimate, claim)
	if proven > claim {
		t.Errorf("the attack proves δ ≥ %v at ε = 1, above the claim %v", proven, claim)
	}
	p, q := float64(with)/n, float64(without)/n
	chance := 6 * math.Sqrt((p*(1-p)+math.E*math.E*q*(1-q))/n)
	if math.Abs(estimate-claim) > chance {
		t.Errorf("the attack comes to %v, but must come to %v within %v", estimate, claim, chance)
	}
}
