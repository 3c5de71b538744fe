package counts

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// payer is a filter that pays for a rung before the rung's noise is drawn. The standard deviation
// sigma of the noise identifies a rung. One record changes a count by at most 1.
type payer interface {
	// fits reports whether the filter can pay for a ladder that ends at this rung.
	fits(sigma float64) bool
	// pay charges the filter for a ladder that ended at this rung.
	pay(sigma float64) error
}

// method is a way to release counts.
type method struct {
	name string
	open func() payer
	// answer releases a count with less and less noise until it is exact enough. done is false if
	// the budget does not suffice for that.
	answer func(p payer, count, target float64, random *rand.Rand) (noisy float64, done bool, err error)
}

// ladder is a method with fixed rungs and the paper's stopping rule.
type ladder struct {
	step  float64 // ratio of the standard deviations of two rungs
	rungs func(count, sigma float64, random *rand.Rand) func(sigma float64) float64
	every bool // whether every rung is paid for, not only the last one
}

func (m ladder) answer(p payer, count, target float64, random *rand.Rand) (noisy float64, done bool, err error) {
	next := m.rungs(count, coarsest, random)
	paid := math.Inf(1) // the finest rung that is known to fit
	for sigma := coarsest; sigma >= finest; sigma /= m.step {
		if sigma < paid || m.every {
			if paid = fitting(p, sigma); paid > sigma {
				return 0, false, nil
			}
		}
		noisy = next(sigma)
		last := exact(noisy, sigma, target)
		if m.every || last {
			if err := p.pay(sigma); err != nil {
				return 0, false, err
			}
		}
		if last {
			return noisy, true, nil
		}
	}
	return 0, false, nil
}

// fitting returns a rung that the filter can pay for: a much finer rung than sigma, which saves the
// checks of the rungs between the two, or else sigma. It returns +Inf if neither fits.
func fitting(p payer, sigma float64) float64 {
	for _, to := range []float64{sigma / 4, sigma} {
		if p.fits(to) {
			return to
		}
	}
	return math.Inf(1)
}

// brownian adds noise from one Brownian motion, from large to small variances. If the value at a
// rung is known, the values at earlier rungs reveal nothing more about the count (Rogers et al.
// 2023, Definition 4.4).
func brownian(count, sigma float64, random *rand.Rand) func(float64) float64 {
	variance := sigma * sigma
	noise := sigma * random.NormFloat64()
	return func(sigma float64) float64 {
		if to := sigma * sigma; to < variance {
			noise = noise*to/variance + math.Sqrt(to*(variance-to)/variance)*random.NormFloat64()
			variance = to
		}
		return count + noise
	}
}

// fresh adds independent noise at every rung.
func fresh(count, _ float64, random *rand.Rand) func(float64) float64 {
	return func(sigma float64) float64 { return count + sigma*random.NormFloat64() }
}

// laplace adds noise from one Laplace process, from large to small scales. From scale s to scale t,
// the noise stays the same with probability (t/s)². Otherwise it is drawn around the last value
// (Koufogiannis, Han and Pappas 2016, Theorem 1, from coarse to fine).
func laplace(count, sigma float64, random *rand.Rand) func(float64) float64 {
	draw := func(scale float64) float64 {
		noise := scale * random.ExpFloat64()
		if random.IntN(2) == 0 {
			return -noise
		}
		return noise
	}
	scale := sigma / math.Sqrt2
	noise := draw(scale)
	return func(sigma float64) float64 {
		if to := sigma / math.Sqrt2; to < scale {
			noise, scale = refine(noise, scale, to, random), to
		}
		return count + noise
	}
}

// refine draws the finer Laplace noise x of scale t given the coarser noise y of scale s. Its
// density is proportional to e^(−|x|/t)·((t/s)²·δ(y − x) + (1 − (t/s)²)·e^(−|y−x|/s)/(2s)). The
// second part is exponential on three intervals.
func refine(y, s, t float64, random *rand.Rand) float64 {
	sign := 1.0
	if y < 0 {
		y, sign = -y, -1
	}
	fine := func(x float64) float64 { return math.Exp(-math.Abs(x)/t) / (2 * t) }
	keep := (t / s) * (t / s)
	jump := (1 - keep) / (4 * s * t)
	plus, minus := 1/t+1/s, 1/t-1/s
	weights := [4]float64{
		keep * fine(y),
		jump * math.Exp(-y/s) / plus,                     // x < 0
		jump * (math.Exp(-y/s) - math.Exp(-y/t)) / minus, // 0 ≤ x < y
		jump * math.Exp(-y/t) / plus,                     // y ≤ x
	}
	draw := random.Float64() * (weights[0] + weights[1] + weights[2] + weights[3])
	part := 0
	for part < 3 && draw >= weights[part] {
		draw -= weights[part]
		part++
	}
	switch part {
	case 1:
		y = -random.ExpFloat64() / plus
	case 2:
		u := random.Float64()
		y = -math.Log1p(-u*(-math.Expm1(-y*minus))) / minus
	case 3:
		y += random.ExpFloat64() / plus
	}
	return sign * y
}

// product uses the ladder of package noisereduction. The rule of that ladder promises the target
// for 95 of 100 counts, and its next rung depends on the last value.
func product(p payer, count, target float64, random *rand.Rand) (noisy float64, done bool, err error) {
	out := planFor(target).Imitate(count, random.NormFloat64)
	sigma := math.Sqrt(1 / out.Precision.Float())
	// A ladder that would exceed the rest of the budget stops before the target is met.
	if !p.fits(sigma) || !out.Met {
		return 0, false, nil
	}
	return count + out.Error, true, p.pay(sigma)
}

var plans sync.Map // *noisereduction.Plan by target

func planFor(target float64) *noisereduction.Plan {
	if plan, ok := plans.Load(target); ok {
		return plan.(*noisereduction.Plan)
	}
	most, _ := experiment.Must(budgets.LargestSquare(epsilon, delta, budgets.GDP)).Float64()
	plan := experiment.Must(noisereduction.Compile(noisereduction.Spec{
		Kind:   noisereduction.Adaptive,
		First:  experiment.Must(units.PrecisionFromSigma(coarsest)),
		Top:    experiment.Must(units.PrecisionFromFloat(most, units.RoundDown)),
		Target: noisereduction.Target{Relative: target, Confidence: 0.95},
	}))
	plans.Store(target, plan)
	return plan
}

func methods() []method {
	half := math.Sqrt2 // ratio of the standard deviations: half the variance
	reduction := ladder{step: half, rungs: brownian}.answer
	doubling := ladder{step: half, rungs: fresh, every: true}.answer
	return []method{
		{"noise reduction, Gaussian filter, product's rule", openGaussian, product},
		{"noise reduction, Gaussian filter, fine rungs", openGaussian,
			ladder{step: math.Pow(2, 1.0/32), rungs: brownian}.answer},
		{"noise reduction, Gaussian filter", openGaussian, reduction},
		{"noise reduction, unified zCDP filter, product's rule", openUnified, product},
		{"noise reduction, unified zCDP filter", openUnified, reduction},
		{"noise reduction, unified zCDP filter, closed form", openClosedForm, reduction},
		{"doubling, zCDP filter", openUnified, doubling},
		{"doubling, Gaussian filter", openGaussian, doubling},
		{"ex-post sums, Brownian noise", openBrownianExPost, reduction},
		{"ex-post sums, Laplace noise", openLaplaceExPost, ladder{step: half, rungs: laplace}.answer},
	}
}

type gdpPayer struct{ *accounting.Filter[loss.GDP] }

func openGaussian() payer { return gdpPayer{experiment.Must(accounting.NewGaussianFor(budget))} }

func (p gdpPayer) fits(sigma float64) bool { return p.Fits(loss.GDP{Mu: 1 / sigma}) }
func (p gdpPayer) pay(sigma float64) error { return p.Spend(loss.GDP{Mu: 1 / sigma}) }

type zcdpPayer struct{ *accounting.Filter[loss.ZCDP] }

// openUnified uses the greatest ρ whose best conversion is within the budget. The Gaussian filter
// uses the greatest such μ, so that the two filters differ only in how losses add up.
func openUnified() payer {
	twice, _ := experiment.Must(budgets.LargestSquare(epsilon, delta, budgets.ZCDP)).Float64()
	return zcdpPayer{&experiment.Must(accounting.NewUnified(math.Nextafter(twice, 0)/2, 0)).Filter}
}

// openClosedForm uses the ρ of the paper's conversion, ε = ρ + 2·√(ρ·ln 1/δ).
func openClosedForm() payer {
	return zcdpPayer{&experiment.Must(accounting.NewUnifiedFor(budget, 0)).Filter}
}

func rho(sigma float64) loss.ZCDP { return loss.ZCDP{Rho: 1 / (2 * sigma * sigma)} }

func (p zcdpPayer) fits(sigma float64) bool { return p.Fits(rho(sigma)) }
func (p zcdpPayer) pay(sigma float64) error { return p.Spend(rho(sigma)) }

// exPostPayer adds up ex-post losses (Lemma 5.2). It checks the bound of a rung before its noise is
// drawn.
type exPostPayer struct {
	*accounting.Reserver[loss.Approx]
	bound func(sigma float64) loss.Approx
}

// openBrownianExPost uses one boundary for each count. The δ of all boundaries add up to the δ of
// the budget. The number of counts is fixed in advance, at 1.5 times the largest number that any
// trial reaches.
func openBrownianExPost() payer {
	const mostCounts = 48
	b := experiment.Must(accounting.NewMixtureFor(delta/mostCounts, 4))
	f := experiment.Must(accounting.NewExPost(loss.Approx{Epsilon: epsilon, Delta: delta * (1 + 1e-9)}))
	return exPostPayer{f, func(sigma float64) loss.Approx { return experiment.Must(b.At(1, sigma*sigma)) }}
}

func openLaplaceExPost() payer {
	f := experiment.Must(accounting.NewExPost(loss.Approx{Epsilon: epsilon}))
	return exPostPayer{f, func(sigma float64) loss.Approx { return loss.Approx{Epsilon: math.Sqrt2 / sigma} }}
}

func (p exPostPayer) fits(sigma float64) bool { return p.Fits(p.bound(sigma)) }
func (p exPostPayer) pay(sigma float64) error { return p.Spend(p.bound(sigma)) }
