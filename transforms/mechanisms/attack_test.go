package mechanisms_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// promise returns what the filters of the attacks claim. δ is large for a claim: the
// point of the curve where games of this number see the most of it.
func promise() loss.Approx { return loss.Approx{Epsilon: 1, Delta: 0.1} }

// shares returns the parts of a budget that the offers of a menu cost.
func shares() []float64 { return []float64{0.5, 0.25, 0.125, 0.125, 0.0625} }

// hair keeps an offer that costs a part of a budget from costing a rounding more.
const hair = 1 - 1e-9

func TestAttackOnGDPFilter(t *testing.T) {
	base := must.Have(accounting.NewGaussianFor(promise()))
	var menu []offer[loss.GDP]
	for _, share := range shares() {
		g, run := gaussianGame(1 / (base.Left().Mu * math.Sqrt(share) * hair))
		menu = append(menu, offer[loss.GDP]{must.Have(g.GDP(1)), run})
	}
	holds(t, promise(), 0.85, gambler(t, func() filter[loss.GDP] { return base.Fresh() }, menu))
}

// refiner spends an ex-post budget on pairs of releases of the value: one with much Laplace noise,
// and only if it favours 1 another one, which costs the rest of the worst case.
type refiner struct {
	open   func(worst loss.Approx) bool // may a pair of this worst case begin?
	settle func(worst, realised loss.Approx)
	left   func() float64
}

func (c refiner) play(secret float64, src mechanisms.Source) float64 {
	score := 0.0
	for range 6 {
		left := c.left()
		if left < 0.05 {
			break
		}
		fine := 8.0 / 7 / (left * hair)
		first, second := must.Have(mechanisms.NewLaplace(7*fine)), must.Have(mechanisms.NewLaplace(fine))
		realised := must.Have(first.Approx(1))
		worst := loss.Approx{Epsilon: realised.Epsilon + must.Have(second.Approx(1)).Epsilon}
		if !c.open(worst) {
			break
		}
		ratio := laplaceRatio(must.Have(first.Release(secret, src)), 7*fine)
		if ratio > 0 {
			ratio += laplaceRatio(must.Have(second.Release(secret, src)), fine)
			realised = worst
		}
		c.settle(worst, realised)
		score += ratio
	}
	return score
}

// exPostRefiner keeps to the rules of an ex-post filter.
func exPostRefiner(t testing.TB, f *accounting.Reserver[loss.Approx]) refiner {
	return refiner{
		open: func(worst loss.Approx) bool { return f.Reserve(worst) == nil },
		settle: func(worst, realised loss.Approx) {
			if err := f.Settle(worst, realised); err != nil {
				t.Fatal(err)
			}
		},
		left: func() float64 { return f.Left().Epsilon },
	}
}

func TestAttackOnExPostFilter(t *testing.T) {
	base := must.Have(accounting.NewExPost(loss.Approx{Epsilon: 1}))
	holds(t, loss.Approx{Epsilon: 1}, 0.85, func(secret float64, src mechanisms.Source) float64 {
		f := base.Fresh()
		return exPostRefiner(t, f).play(secret, src)
	})
}

// brownianRung is the next release of a Brownian refinement: Gaussian noise for the increment of
// precision from before to after.
type brownianRung struct {
	m        *mechanisms.Gaussian
	increase float64
	rho      loss.ZCDP // price of the refinement if it stops here
}

// brownianLadder returns four rungs by factors of two up to a ρ.
func brownianLadder(rho float64) []brownianRung {
	var ladder []brownianRung
	before := 0.0
	for _, part := range []float64{0.125, 0.25, 0.5, 1} {
		u := 2 * rho * part * hair
		m := must.Have(mechanisms.NewGaussian(1 / math.Sqrt(u-before)))
		ladder = append(ladder, brownianRung{m, u - before, loss.ZCDP{Rho: rho * part}})
		before = u
	}
	return ladder
}

// refineBrownian stops once the releases favour 0.
func refineBrownian(ladder []brownianRung, secret float64, src mechanisms.Source) (ratio float64, stopped loss.ZCDP) {
	for _, rung := range ladder {
		ratio += rung.increase * (must.Have(rung.m.Release(secret, src)) - 0.5)
		stopped = rung.rho
		if ratio < 0 {
			break
		}
	}
	return ratio, stopped
}

// unified returns a filter whose ρ implies the promise by the optimal conversion.
func unified() *accounting.Reserver[loss.ZCDP] {
	c := must.Have(budgets.ConvertEpsilonDelta(promise().Epsilon, promise().Delta, budgets.ZCDP))
	return must.Have(accounting.NewUnified(c.Rho, 0))
}

// TestAttackOnAccountOfThePipeline is the unified filter that the pipeline runs on:
// accounts.Account with Reserve and Settle, in GDP.
func TestAttackOnAccountOfThePipeline(t *testing.T) {
	mu := must.Have(budgets.ConvertEpsilonDelta(promise().Epsilon, promise().Delta, budgets.GDP)).Mu
	budget := budgets.Budget{Mu2: units.Mu2(math.Ldexp(mu*mu, 40))}
	ladders := [][]brownianRung{brownianLadder(mu * mu / 2), brownianLadder(mu * mu / 4), brownianLadder(mu * mu / 8),
		brownianLadder(mu * mu / 16)}
	charge := func(z loss.ZCDP) units.Mu2 { return units.Mu2(math.Ceil(math.Ldexp(2*z.Rho*hair, 40))) }
	holds(t, promise(), 0.85, func(secret float64, src mechanisms.Source) float64 {
		var account accounts.Account
		score := 0.0
		for range 8 {
			i := 0
			for i < len(ladders) && account.Reserve(budget, charge(ladders[i][3].rho)) != nil {
				i++
			}
			if i == len(ladders) {
				break
			}
			ratio, stopped := refineBrownian(ladders[i], secret, src)
			score += ratio
			if err := account.Settle(charge(ladders[i][3].rho), charge(stopped)); err != nil {
				t.Fatal(err)
			}
		}
		return score
	})
}
