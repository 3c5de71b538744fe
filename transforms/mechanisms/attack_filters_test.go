package mechanisms_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

func TestAttackOnBasicFilter(t *testing.T) {
	half := loss.Approx{Epsilon: 0.5 * hair, Delta: 0.05}
	laplace, run := laplaceGame(2 / hair)
	quarter, small := laplaceGame(4 / hair)
	menu := []offer[loss.Approx]{
		{half, leakyResponse(half)},
		{must.Have(laplace.Approx(1)), run},
		{must.Have(quarter.Approx(1)), small},
	}
	base := must.Have(accounting.NewBasic(promise()))
	holds(t, promise(), 0.75, gambler(t, func() filter[loss.Approx] { return base.Fresh() }, menu))
}

// TestAttackOnAdvancedFilter has the distance of the theorem to close, which is wide: it
// asks for little.
func TestAttackOnAdvancedFilter(t *testing.T) {
	claim := loss.Approx{Epsilon: 4, Delta: 0.05}
	base := must.Have(accounting.NewAdvanced(claim))
	price := loss.Approx{Epsilon: 0.3, Delta: 0.003}
	laplace, run := laplaceGame(1 / 0.3)
	small, runSmall := laplaceGame(10)
	menu := []offer[loss.Approx]{
		{price, leakyResponse(price)},
		{must.Have(laplace.Approx(1)), run},
		{must.Have(small.Approx(1)), runSmall},
	}
	holds(t, claim, 0.25, gambler(t, func() filter[loss.Approx] { return base.Fresh() }, menu))
}

// zcdpMenu has a binary response for most of a ρ and Gaussian noise, discrete and not,
// for the rest.
func zcdpMenu(rho, delta float64) []offer[loss.ZCDP] {
	menu := []offer[loss.ZCDP]{binaryZCDP(0.9*rho, delta)}
	g, run := gaussianGame(1 / math.Sqrt(2*rho*0.06*hair))
	d, discrete := discreteGame(1 / math.Sqrt(2*rho*0.03*hair))
	return append(menu, offer[loss.ZCDP]{must.Have(g.ZCDP(1)), run}, offer[loss.ZCDP]{must.Have(d.ZCDP(1)), discrete})
}

// TestAttackOnZCDPFilter: ε = ρ + 2√(ρ ln 1/δ) is far from what zCDP implies at this δ.
func TestAttackOnZCDPFilter(t *testing.T) {
	base := must.Have(accounting.NewZCDP(promise()))
	menu := zcdpMenu(base.Left().Rho, promise().Delta)
	holds(t, promise(), 0.15, gambler(t, func() filter[loss.ZCDP] { return base.Fresh() }, menu))
}

// TestAttackOnApproximateZCDPFilter: half of δ goes into giving the value away.
func TestAttackOnApproximateZCDPFilter(t *testing.T) {
	const rho, leak = 0.35, 0.05
	base := must.Have(accounting.NewApproxZCDP(rho, leak))
	claim := loss.Approx{Delta: 0.1}
	claim.Epsilon = must.Have(conversion.ApproxZCDPToEpsilon(loss.ZCDP{Rho: rho, Delta: leak}, claim.Delta))
	menu := zcdpMenu(rho, claim.Delta-leak)
	run := menu[0].run
	menu[0].price.Delta = leak
	menu[0].run = func(secret float64, src mechanisms.Source) float64 {
		if unit(src) < leak {
			return (2*secret - 1) * 1e6
		}
		return run(secret, src)
	}
	holds(t, claim, 0.7, gambler(t, func() filter[loss.ZCDP] { return base.Fresh() }, menu))
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
		{must.Have(g.RDP(1, orders...)), run},
		{must.Have(l.RDP(1, orders...)), laplace},
	}
}

// TestAttackOnRenyiFilterOfManyOrders: the budgets belong to one ρ; the claim is the best over the
// orders.
func TestAttackOnRenyiFilterOfManyOrders(t *testing.T) {
	budget := must.Have(conversion.ZCDPToRDP(loss.ZCDP{Rho: 0.27}, []float64{1.5, 2, 2.5, 3, 4, 6, 8, 16}))
	claim := loss.Approx{Delta: 0.1}
	claim.Epsilon = must.Have(conversion.RDPToEpsilon(budget, claim.Delta))
	fresh := func() filter[loss.RDP] { return must.Have(accounting.NewRenyi(budget)) }
	holds(t, claim, 0.7, gambler(t, fresh, renyiMenu(budget, claim.Delta)))
}

// TestAttackOnMixedFilter: responses and noise against the zCDP part, then refinements against the
// ex-post part, chosen from earlier outputs. Each game has copies of the two parts.
func TestAttackOnMixedFilter(t *testing.T) {
	model := must.Have(accounting.NewMixed(loss.Approx{Epsilon: 0.2, Delta: 0.02}, 0, loss.Approx{Epsilon: 0.8}))
	menu := zcdpMenu(model.Concentrated.Left().Rho, model.Promise.Delta)
	holds(t, model.Promise, 0.5, func(secret float64, src mechanisms.Source) float64 {
		concentrated, exPost := model.Concentrated.Fresh(), model.ExPost.Fresh()
		score := gambler(t, func() filter[loss.ZCDP] { return concentrated }, menu)(secret, src)
		if score < 0 {
			return score - exPostRefiner(t, exPost).play(1-secret, src)
		}
		return score + exPostRefiner(t, exPost).play(secret, src)
	})
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
		f, score := base.Fresh(), 0.0
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
		return score + gambler(t, func() filter[loss.ZCDP] { return f }, responses)(secret, src)
	})
}

func discreteGame(sigma float64) (m *mechanisms.DiscreteGaussian, run func(float64, mechanisms.Source) float64) {
	m = must.Have(mechanisms.NewDiscreteGaussian(sigma))
	return m, func(secret float64, src mechanisms.Source) float64 {
		return (must.Have(m.Release(secret, src)) - 0.5) / (sigma * sigma)
	}
}

func laplaceGame(scale float64) (m *mechanisms.Laplace, run func(float64, mechanisms.Source) float64) {
	m = must.Have(mechanisms.NewLaplace(scale))
	return m, func(secret float64, src mechanisms.Source) float64 {
		return laplaceRatio(must.Have(m.Release(secret, src)), scale)
	}
}

// leakyResponse returns randomised response that gives the value away with probability δ:
// the mechanism that (ε, δ)-DP allows at most (Kairouz, Oh and Viswanath, 2015).
func leakyResponse(price loss.Approx) func(float64, mechanisms.Source) float64 {
	honest := 1 / (1 + math.Exp(-price.Epsilon))
	return func(secret float64, src mechanisms.Source) float64 {
		sign := 2*secret - 1
		if unit(src) < price.Delta {
			return sign * 1e6
		}
		if unit(src) >= honest {
			sign = -sign
		}
		return sign * price.Epsilon
	}
}

func unit(src mechanisms.Source) float64 { return float64(src.Word()>>11) * 0x1p-53 }
