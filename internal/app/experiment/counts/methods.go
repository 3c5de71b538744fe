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

// payer is a filter that is asked before noise is drawn. A rung is named by the standard deviation
// of its noise; a count changes by at most 1 with one record.
type payer interface {
	// fits reports whether a ladder that ends at this rung can be paid.
	fits(sigma float64) bool
	// pay charges a ladder that ended at this rung.
	pay(sigma float64) error
}

// method is a way to release counts.
type method struct {
	name string
	open func() payer
	// answer shows a count with less and less noise until it is exact enough. done is false if the
	// budget ends before.
	answer func(p payer, count, target float64, random *rand.Rand) (noisy float64, done bool, err error)
}

// ladder has fixed rungs and the paper's rule of stopping.
type ladder struct {
	step  float64 // ratio of the standard deviation, from rung to rung
	rungs func(count, sigma float64, random *rand.Rand) func(sigma float64) float64
	every bool // every rung is paid, not the last one only
}

func (m ladder) answer(p payer, count, target float64, random *rand.Rand) (noisy float64, done bool, err error) {
	next := m.rungs(count, coarsest, random)
	paid := math.Inf(1) // amount that fits as long as nothing else is paid
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

// fitting returns a rung that can be paid: sigma or one far below, which saves asking for each on
// the way, and +Inf where sigma cannot.
func fitting(p payer, sigma float64) float64 {
	for _, to := range []float64{sigma / 4, sigma} {
		if p.fits(to) {
			return to
		}
	}
	return math.Inf(1)
}

// brownian goes down the variances of one Brownian motion: what it shows at a rung has that rung's
// variance, and given it the ones before tell nothing more of the count (Rogers et al. 2023,
// Definition 4.4).
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

// fresh draws every rung anew.
func fresh(count, _ float64, random *rand.Rand) func(float64) float64 {
	return func(sigma float64) float64 { return count + sigma*random.NormFloat64() }
}

// laplace goes down the scales of one Laplace process: from scale s to t the noise is kept with
// probability (t/s)², and else drawn around what was shown (Koufogiannis, Han and Pappas 2016,
// Theorem 1, read from coarse to fine).
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

// refine draws finer Laplace noise x of scale t given the coarser y of scale s: with density
// proportional to e^(−|x|/t)·((t/s)²·δ(y − x) + (1 − (t/s)²)·e^(−|y−x|/s)/(2s)). The second part is
// exponential on three stretches.
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

// product goes along the ladder of package noisereduction, whose rule promises the target for 95 of
// 100 counts and whose next rung follows from what the last one showed.
func product(p payer, count, target float64, random *rand.Rand) (noisy float64, done bool, err error) {
	out := planFor(target).Imitate(count, random.NormFloat64)
	sigma := math.Sqrt(1 / out.Precision.Float())
	// A ladder that would exceed the rest ends before it, unfinished.
	if !p.fits(sigma) || !out.Met {
		return 0, false, nil
	}
	return count + out.Error, true, p.pay(sigma)
}

var plans sync.Map // by target

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
	half := math.Sqrt2 // of the standard deviation: half the variance
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

// openUnified has the greatest ρ whose best conversion is within the budget, as the Gaussian filter
// has the greatest μ: what is compared is how losses add up.
func openUnified() payer {
	twice, _ := experiment.Must(budgets.LargestSquare(epsilon, delta, budgets.ZCDP)).Float64()
	return zcdpPayer{&experiment.Must(accounting.NewUnified(math.Nextafter(twice, 0)/2, 0)).Filter}
}

// openClosedForm has the ρ of ε = ρ + 2·√(ρ·ln 1/δ), the paper's conversion.
func openClosedForm() payer {
	return zcdpPayer{&experiment.Must(accounting.NewUnifiedFor(budget, 0)).Filter}
}

func rho(sigma float64) loss.ZCDP { return loss.ZCDP{Rho: 1 / (2 * sigma * sigma)} }

func (p zcdpPayer) fits(sigma float64) bool { return p.Fits(rho(sigma)) }
func (p zcdpPayer) pay(sigma float64) error { return p.Spend(rho(sigma)) }

// exPostPayer adds up ex-post losses (Lemma 5.2): a ladder must end before its bound exceeds what
// is left, which a rung is asked for before it is drawn.
type exPostPayer struct {
	*accounting.Reserver[loss.Approx]
	bound func(sigma float64) loss.Approx
}

// openBrownianExPost has a boundary for every count that is asked; their δ add up to that of the
// budget. How many may be asked is fixed before: 1.5 times as many as ever are.
func openBrownianExPost() payer {
	const asked = 48
	b := experiment.Must(accounting.NewMixtureFor(delta/asked, 4))
	f := experiment.Must(accounting.NewExPost(loss.Approx{Epsilon: epsilon, Delta: delta * (1 + 1e-9)}))
	return exPostPayer{f, func(sigma float64) loss.Approx { return experiment.Must(b.At(1, sigma*sigma)) }}
}

func openLaplaceExPost() payer {
	f := experiment.Must(accounting.NewExPost(loss.Approx{Epsilon: epsilon}))
	return exPostPayer{f, func(sigma float64) loss.Approx { return loss.Approx{Epsilon: math.Sqrt2 / sigma} }}
}

func (p exPostPayer) fits(sigma float64) bool { return p.Fits(p.bound(sigma)) }
func (p exPostPayer) pay(sigma float64) error { return p.Spend(p.bound(sigma)) }
