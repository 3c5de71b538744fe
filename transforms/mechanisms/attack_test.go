package mechanisms_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/filter"
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

func TestAttackOnBasicFilter(t *testing.T) {
	half := loss.Approx{Epsilon: 0.5 * hair, Delta: 0.05}
	laplace, run := laplaceGame(2 / hair)
	quarter, small := laplaceGame(4 / hair)
	menu := []offer[loss.Approx]{
		{half, leakyResponse(half)},
		{must(laplace.Approx(1)), run},
		{must(quarter.Approx(1)), small},
	}
	base := must(filter.NewBasic(promise()))
	holds(t, promise(), 0.75, gambler(t, func() filter.Filter[loss.Approx] { f := *base; return &f }, menu))
}

func TestAttackOnBasicFilterOfPureLosses(t *testing.T) {
	claim := loss.Approx{Epsilon: 1}
	half := loss.Approx{Epsilon: 0.5 * hair}
	laplace, run := laplaceGame(2 / hair)
	menu := []offer[loss.Approx]{{half, leakyResponse(half)}, {must(laplace.Approx(1)), run}}
	base := must(filter.NewBasic(claim))
	holds(t, claim, 0.9, gambler(t, func() filter.Filter[loss.Approx] { f := *base; return &f }, menu))
}

// TestAttackOnAdvancedFilter has the distance of the theorem to close, which is wide: it
// asks for little.
func TestAttackOnAdvancedFilter(t *testing.T) {
	claim := loss.Approx{Epsilon: 4, Delta: 0.05}
	base := must(filter.NewAdvanced(claim))
	price := loss.Approx{Epsilon: 0.3, Delta: 0.003}
	laplace, run := laplaceGame(1 / 0.3)
	small, runSmall := laplaceGame(10)
	menu := []offer[loss.Approx]{
		{price, leakyResponse(price)},
		{must(laplace.Approx(1)), run},
		{must(small.Approx(1)), runSmall},
	}
	holds(t, claim, 0.25, gambler(t, func() filter.Filter[loss.Approx] { f := *base; return &f }, menu))
}

func TestAttackOnGDPFilter(t *testing.T) {
	base := must(filter.NewGDPFor(promise()))
	var menu []offer[loss.GDP]
	for _, share := range shares() {
		g, run := gaussianGame(1 / (base.Left().Mu * math.Sqrt(share) * hair))
		menu = append(menu, offer[loss.GDP]{must(g.GDP(1)), run})
	}
	holds(t, promise(), 0.85, gambler(t, func() filter.Filter[loss.GDP] { f := *base; return &f }, menu))
}

// zcdpMenu has a binary response for most of a ρ and Gaussian noise, discrete and not,
// for the rest.
func zcdpMenu(rho, delta float64) []offer[loss.ZCDP] {
	menu := []offer[loss.ZCDP]{binaryZCDP(0.9*rho, delta)}
	g, run := gaussianGame(1 / math.Sqrt(2*rho*0.06*hair))
	d, discrete := discreteGame(1 / math.Sqrt(2*rho*0.03*hair))
	return append(menu,
		offer[loss.ZCDP]{must(g.ZCDP(1)), run},
		offer[loss.ZCDP]{must(d.ZCDP(1)), discrete})
}

// TestAttackOnZCDPFilter: ε = ρ + 2√(ρ ln 1/δ) is far from what zCDP implies at this δ.
func TestAttackOnZCDPFilter(t *testing.T) {
	base := must(filter.NewZCDP(promise()))
	menu := zcdpMenu(base.Left().Rho, promise().Delta)
	holds(t, promise(), 0.15, gambler(t, func() filter.Filter[loss.ZCDP] { f := *base; return &f }, menu))
}

func TestAttackOnOptimalZCDPFilter(t *testing.T) {
	base := must(filter.NewZCDPOptimal(promise()))
	menu := zcdpMenu(base.Left().Rho, promise().Delta)
	holds(t, promise(), 0.7, gambler(t, func() filter.Filter[loss.ZCDP] { f := *base; return &f }, menu))
}

// TestAttackOnApproximateZCDPFilter: half of δ goes into giving the value away.
func TestAttackOnApproximateZCDPFilter(t *testing.T) {
	const rho, leak = 0.35, 0.05
	base := must(filter.NewApproxZCDP(rho, leak))
	claim := loss.Approx{Delta: 0.1}
	claim.Epsilon = must(conversion.ApproxZCDPToEpsilon(loss.ZCDP{Rho: rho, Delta: leak}, claim.Delta))
	menu := zcdpMenu(rho, claim.Delta-leak)
	run := menu[0].run
	menu[0].price.Delta = leak
	menu[0].run = func(secret float64, src mechanisms.Source) float64 {
		if unit(src) < leak {
			return (2*secret - 1) * 1e6
		}
		return run(secret, src)
	}
	holds(t, claim, 0.7, gambler(t, func() filter.Filter[loss.ZCDP] { f := *base; return &f }, menu))
}

// renyiMenu has a binary response for most of a curve and noise for the rest.
func renyiMenu(curve loss.RDP, delta float64) []offer[loss.RDP] {
	var orders []float64
	most, rho := make(loss.RDP, len(curve)), math.Inf(1)
	for i, o := range curve {
		orders = append(orders, o.Alpha)
		most[i] = loss.Order{Alpha: o.Alpha, Epsilon: 0.9 * o.Epsilon}
		rho = min(rho, o.Epsilon/o.Alpha)
	}
	sigma := 1 / math.Sqrt(2*rho*0.05*hair)
	g, run := gaussianGame(sigma)
	l, laplace := laplaceGame(math.Sqrt2 * sigma)
	return []offer[loss.RDP]{
		binaryRDP(most, delta),
		{must(g.RDP(1, orders...)), run},
		{must(l.RDP(1, orders...)), laplace},
	}
}

func TestAttackOnRenyiFilter(t *testing.T) {
	const order, epsilon = 3, 0.9
	base := must(filter.NewRenyi(order, epsilon))
	claim := loss.Approx{Delta: 0.1}
	budget := loss.RDP{{Alpha: order, Epsilon: epsilon}}
	claim.Epsilon = must(conversion.RDPToEpsilon(budget, claim.Delta))
	menu := renyiMenu(budget, claim.Delta)
	holds(t, claim, 0.75, gambler(t, func() filter.Filter[loss.RDP] { f := *base; return &f }, menu))
}

// TestAttackOnRenyiFilterOfManyOrders: the budgets are those of one ρ; the claim is
// the best of the orders.
func TestAttackOnRenyiFilterOfManyOrders(t *testing.T) {
	budget := must(conversion.ZCDPToRDP(loss.ZCDP{Rho: 0.27}, []float64{1.5, 2, 2.5, 3, 4, 6, 8, 16}))
	claim := loss.Approx{Delta: 0.1}
	claim.Epsilon = must(conversion.RDPToEpsilon(budget, claim.Delta))
	fresh := func() filter.Filter[loss.RDP] { return must(filter.NewRenyiOrders(budget)) }
	holds(t, claim, 0.7, gambler(t, fresh, renyiMenu(budget, claim.Delta)))
}

// refiner spends an ex-post budget on Laplace reductions of the value. It stops a refinement
// that goes against it, to have more left for the next.
type refiner struct {
	open   func(worst loss.Approx) bool // may a refinement of this worst case begin?
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
		finest := 1 / (left * hair)
		m := must(mechanisms.NewLaplaceReduction(8*finest, finest))
		worst := must(m.Worst(1))
		if !c.open(worst) {
			break
		}
		ratio, realised := refine(m, 8*finest, secret, src)
		c.settle(worst, realised)
		score += ratio
	}
	return score
}

// refine goes down by halves from a scale to the finest unless a rung speaks for 0 by
// more than half of what it may.
func refine(m *mechanisms.LaplaceReduction, scale, secret float64, src mechanisms.Source) (ratio float64, realised loss.Approx) {
	c := must(m.Begin(secret))
	for range 4 {
		ratio = laplaceRatio(must(c.Next(scale, src)), scale)
		if ratio < -0.5/scale {
			break
		}
		scale /= 2
	}
	return ratio, must(c.Price(1))
}

// exPostRefiner keeps to the rules of an ex-post filter.
func exPostRefiner(t testing.TB, f *filter.ExPost) refiner {
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
	base := must(filter.NewExPost(1))
	holds(t, loss.Approx{Epsilon: 1}, 0.85, func(secret float64, src mechanisms.Source) float64 {
		f := *base
		return exPostRefiner(t, &f).play(secret, src)
	})
}

// TestAttackOnMixedFilter: responses and noise against the zCDP part, then refinements
// against the ex-post part, by what was seen. Each game has copies of the two parts.
func TestAttackOnMixedFilter(t *testing.T) {
	model := must(filter.NewMixed(loss.Approx{Epsilon: 0.2, Delta: 0.02}, 0, loss.Approx{Epsilon: 0.8}))
	menu := zcdpMenu(model.Concentrated().Left().Rho, model.Promise().Delta)
	holds(t, model.Promise(), 0.5, func(secret float64, src mechanisms.Source) float64 {
		concentrated, exPost := *model.Concentrated(), *model.ExPost()
		score := gambler(t, func() filter.Filter[loss.ZCDP] { return &concentrated }, menu)(secret, src)
		if score < 0 {
			return score - exPostRefiner(t, &exPost).play(1-secret, src)
		}
		return score + exPostRefiner(t, &exPost).play(secret, src)
	})
}

// brownianRung is the next release of a Brownian refinement: the increment of precision
// from before to after, whose noise is that of a Gaussian.
type brownianRung struct {
	m        *mechanisms.Gaussian
	increase float64
	rho      loss.ZCDP // of the refinement if it stops here
}

// brownianLadder returns four rungs by factors of two up to a ρ.
func brownianLadder(rho float64) []brownianRung {
	var ladder []brownianRung
	before := 0.0
	for _, part := range []float64{0.125, 0.25, 0.5, 1} {
		u := 2 * rho * part * hair
		m := must(mechanisms.NewGaussian(1 / math.Sqrt(u-before)))
		ladder = append(ladder, brownianRung{m, u - before, loss.ZCDP{Rho: rho * part}})
		before = u
	}
	return ladder
}

// refineBrownian stops where the answers speak for 0.
func refineBrownian(ladder []brownianRung, secret float64, src mechanisms.Source) (ratio float64, stopped loss.ZCDP) {
	for _, rung := range ladder {
		ratio += rung.increase * (must(rung.m.Release(secret, src)) - 0.5)
		stopped = rung.rho
		if ratio < 0 {
			break
		}
	}
	return ratio, stopped
}

// unified returns a filter whose ρ implies the promise by the optimal conversion.
func unified() *filter.Unified {
	c := must(budgets.ConvertEpsilonDelta(promise().Epsilon, promise().Delta, budgets.ZCDP))
	return must(filter.NewUnified(c.Rho, 0))
}

// TestAttackOnUnifiedFilter: Brownian refinementments, then a binary response for what they gave
// back, the strongest that fits. Gaussian noise leaks less than zCDP allows.
func TestAttackOnUnifiedFilter(t *testing.T) {
	base := unified()
	total := base.Left().Rho
	ladders := [][]brownianRung{brownianLadder(total / 16), brownianLadder(total / 32)}
	var responses []offer[loss.ZCDP]
	for _, share := range []float64{0.98, 0.94, 0.9, 0.5, 0.25} {
		responses = append(responses, binaryZCDP(share*total, promise().Delta))
	}
	holds(t, promise(), 0.7, func(secret float64, src mechanisms.Source) float64 {
		f, score := *base, 0.0
		for _, ladder := range ladders {
			worst := ladder[len(ladder)-1].rho
			if err := f.Reserve(worst); err != nil {
				t.Fatal(err)
			}
			ratio, stopped := refineBrownian(ladder, secret, src)
			score += ratio
			if err := f.Settle(worst, stopped); err != nil {
				t.Fatal(err)
			}
		}
		return score + gambler(t, func() filter.Filter[loss.ZCDP] { return &f }, responses)(secret, src)
	})
}

// TestAttackOnAccountOfThePipeline is the unified filter that the pipeline runs on:
// accounts.Account with Reserve and Settle, in GDP.
func TestAttackOnAccountOfThePipeline(t *testing.T) {
	mu := must(budgets.ConvertEpsilonDelta(promise().Epsilon, promise().Delta, budgets.GDP)).Mu
	budget := budgets.Budget{Mu2: units.Mu2(math.Ldexp(mu*mu, 40))}
	ladders := [][]brownianRung{brownianLadder(mu * mu / 2), brownianLadder(mu * mu / 4), brownianLadder(mu * mu / 8), brownianLadder(mu * mu / 16)}
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
