package counts

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync"

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
	fits(sigma float64) (bool, error)
	// pay charges a ladder that ended at this rung.
	pay(sigma float64) error
}

// method is a way to release counts.
type method struct {
	name string
	open func() (payer, error)
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
			if paid, err = fitting(p, sigma); err != nil || paid > sigma {
				return 0, false, err
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
func fitting(p payer, sigma float64) (float64, error) {
	for _, to := range []float64{sigma / 4, sigma} {
		if ok, err := p.fits(to); err != nil || ok {
			return to, err
		}
	}
	return math.Inf(1), nil
}

// brownian goes down the variances of one Brownian motion: what it shows at a rung has that rung's
// variance, and given it the ones before tell nothing more of the count (Rogers et al. 2023,
// Definition 4.4).
func brownian(count, sigma float64, random *rand.Rand) func(float64) float64 {
	at := sigma * sigma
	noise := sigma * random.NormFloat64()
	return func(sigma float64) float64 {
		if to := sigma * sigma; to < at {
			noise = noise*to/at + math.Sqrt(to*(at-to)/at)*random.NormFloat64()
			at = to
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
	at := random.Float64() * (weights[0] + weights[1] + weights[2] + weights[3])
	part := 0
	for part < 3 && at >= weights[part] {
		at -= weights[part]
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
	plan, err := planFor(target)
	if err != nil {
		return 0, false, err
	}
	out := plan.Imitate(count, random.NormFloat64)
	sigma := math.Sqrt(1 / out.Precision.Float())
	// A ladder that would exceed the rest ends before it, unfinished.
	if ok, err := p.fits(sigma); err != nil || !ok || !out.Met {
		return 0, false, err
	}
	return count + out.Error, true, p.pay(sigma)
}

var plans sync.Map // by target

func planFor(target float64) (*noisereduction.Plan, error) {
	if plan, ok := plans.Load(target); ok {
		return plan.(*noisereduction.Plan), nil
	}
	first, err1 := units.PrecisionFromSigma(coarsest)
	square, err2 := budgets.LargestSquare(epsilon, delta, budgets.GDP)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	most, _ := square.Float64()
	top, err := units.PrecisionFromFloat(most, units.RoundDown)
	if err != nil {
		return nil, err //nolint:wrapcheck // a constant budget
	}
	plan, err := noisereduction.Compile(noisereduction.Spec{
		Kind: noisereduction.Adaptive, First: first, Top: top,
		Target: noisereduction.Target{Relative: target, Confidence: 0.95},
	})
	if err == nil {
		plans.Store(target, plan)
	}
	return plan, err //nolint:wrapcheck // a constant plan
}

func methods() []method {
	half := math.Sqrt2 // of the standard deviation: half the variance
	reduction, doubling := ladder{step: half, rungs: brownian}.answer, ladder{step: half, rungs: fresh,
		every: true}.answer
	return []method{
		{"noise reduction, Gaussian filter, product's rule", openGaussian, product},
		{"noise reduction, Gaussian filter, fine rungs", openGaussian, ladder{step: math.Pow(2, 1.0/32),
			rungs: brownian}.answer},
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

func openGaussian() (payer, error) {
	f, err := accounting.NewGaussianFor(budget)
	return gdpPayer{f}, err //nolint:wrapcheck // a constant budget
}

func (p gdpPayer) fits(sigma float64) (bool, error) { return p.Fits(loss.GDP{Mu: 1 / sigma}), nil }
func (p gdpPayer) pay(sigma float64) error          { return p.Spend(loss.GDP{Mu: 1 / sigma}) }

type zcdpPayer struct{ *accounting.Filter[loss.ZCDP] }

// openUnified has the greatest ρ whose best conversion is within the budget, as the Gaussian filter
// has the greatest μ: what is compared is how losses add up.
func openUnified() (payer, error) {
	square, err := budgets.LargestSquare(epsilon, delta, budgets.ZCDP)
	if err != nil {
		return nil, err //nolint:wrapcheck // a constant budget
	}
	twice, _ := square.Float64()
	f, err := accounting.NewUnified(math.Nextafter(twice, 0)/2, 0)
	if err != nil {
		return nil, err //nolint:wrapcheck // a constant budget
	}
	return zcdpPayer{&f.Filter}, nil
}

// openClosedForm has the ρ of ε = ρ + 2·√(ρ·ln 1/δ), the paper's conversion.
func openClosedForm() (payer, error) {
	f, err := accounting.NewUnifiedFor(budget, 0)
	if err != nil {
		return nil, err //nolint:wrapcheck // a constant budget
	}
	return zcdpPayer{&f.Filter}, nil
}

func rho(sigma float64) loss.ZCDP { return loss.ZCDP{Rho: 1 / (2 * sigma * sigma)} }

func (p zcdpPayer) fits(sigma float64) (bool, error) { return p.Fits(rho(sigma)), nil }
func (p zcdpPayer) pay(sigma float64) error          { return p.Spend(rho(sigma)) }

// exPostPayer adds up ex-post losses (Lemma 5.2): a ladder must end before its bound exceeds what
// is left, which a rung is asked for before it is drawn.
type exPostPayer struct {
	*accounting.Reserver[loss.Approx]
	bound func(sigma float64) (loss.Approx, error)
}

// openBrownianExPost has a boundary for every count that is asked; their δ add up to that of the
// budget. How many may be asked is fixed before: 1.5 times as many as ever are.
func openBrownianExPost() (payer, error) {
	const asked = 48
	b, err1 := accounting.NewMixtureFor(delta/asked, 4)
	f, err2 := accounting.NewExPost(loss.Approx{Epsilon: epsilon, Delta: delta * (1 + 1e-9)})
	return exPostPayer{f, func(sigma float64) (loss.Approx, error) { return b.At(1, sigma*sigma) }},
		errors.Join(err1, err2)
}

func openLaplaceExPost() (payer, error) {
	f, err := accounting.NewExPost(loss.Approx{Epsilon: epsilon})
	return exPostPayer{f, func(sigma float64) (loss.Approx, error) {
		return loss.Approx{Epsilon: math.Sqrt2 / sigma},
			nil
	}}, err //nolint:wrapcheck // a constant budget
}

func (p exPostPayer) fits(sigma float64) (bool, error) {
	l, err := p.bound(sigma)
	return err == nil && p.Fits(l), err
}

func (p exPostPayer) pay(sigma float64) error {
	l, err := p.bound(sigma)
	if err != nil {
		return err
	}
	return p.Spend(l) //nolint:wrapcheck // fits has accepted it
}
