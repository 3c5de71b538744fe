package compose

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
	"github.com/tollgate-dp/tollgate/state/units"
)

const (
	// MinContribution and MaxContribution are the limits of Releases.Contribution.
	MinContribution = 1e-30
	MaxContribution = 1e30
)

// Releases describes Count releases with Gaussian noise of the same standard deviation. An
// individual adds at most Contribution to each release (the sensitivity, in the unit of the noise).
// Each release uses an independent Poisson sample that includes an individual with probability
// Sampling; 1 means no sampling.
type Releases struct {
	Count        int     // 1 to MaxCount
	Contribution float64 // MinContribution to MaxContribution
	Sampling     float64 // 2^-60 to 1
}

// mechanisms returns the releases with noise sigma as a list for an accountant.
func (r Releases) mechanisms(sigma float64) ([]Mechanism, error) {
	m, err := SampledGaussian(sigma, r.Contribution, r.Sampling)
	if err != nil {
		return nil, err
	}
	m, err = m.Times(r.Count)
	return []Mechanism{m}, err
}

func (r Releases) validate() error {
	return cmp.Or(integer("releases", r.Count, 1, MaxCount), units.Require(r.Contribution >= MinContribution &&
		r.Contribution <= MaxContribution, "contribution", r.Contribution, "between 1e-30 and 1e30"),
		pld.SubsampledGaussian{Sigma: 1, Sampling: r.Sampling}.Validate())
}

// Calibrate returns a standard deviation σ with which all releases together are within the budget,
// and their cost: the result of Best for that σ, whose ε at the budget's δ is at most the budget's
// ε. σ has four decimal digits. With the next smaller such σ, the result of Best exceeds the
// budget, unless that σ is below the range of pld.Gaussian. (An even smaller σ may fit, because the
// bounds from pld need not fall monotonically as σ rises.)
//
// Without sampling, accounting.NewGaussianFor(budget) accepts Count losses of Contribution/σ.
//
// The error is a *units.RangeError unless 0 < ε ≤ budgets.MaxEpsilon, budgets.MinDelta ≤ δ < 1 and
// r is valid. It is a *NotApplicableError if no σ in the range of pld.Gaussian is enough.
func Calibrate(budget loss.Approx, r Releases) (sigma float64, cost Verdict, err error) {
	q, err := EpsilonAt(budget.Delta)
	if err := cmp.Or(units.Require(budget.Epsilon > 0 && budget.Epsilon <= budgets.MaxEpsilon, "epsilon",
		budget.Epsilon, "above 0 and at most 1e6"), err, r.validate()); err != nil {
		return 0, Verdict{}, err
	}
	c := calibration{Releases: r, budget: budget, question: q}
	c.first = floorDecimal(pld.MinSigma * r.Contribution).next() // MinSigma itself has more than four digits
	c.last = floorDecimal(pld.MaxSigma * r.Contribution)
	best, cost, err := c.search()
	if err != nil {
		return 0, Verdict{}, err
	}
	return best.value(), cost, nil
}

// decimal is a positive number with four decimal digits, represented by its index among them.
type decimal int

// perDecade is the number of decimals in a decade: the integers from 1000 to 9999.
const perDecade = 9000

// floorDecimal returns the greatest decimal that is at most x.
func floorDecimal(x float64) decimal {
	exponent := math.Floor(math.Log10(x))
	d := decimal(perDecade*exponent + math.Floor(x/math.Pow(10, exponent-3)) - 1000)
	for d.value() > x {
		d--
	}
	for d.next().value() <= x {
		d++
	}
	return d
}

func (d decimal) next() decimal { return d + 1 }

// value returns the float64 that is nearest to the decimal.
func (d decimal) value() float64 {
	decade := int(math.Floor(float64(d) / perDecade))
	digits := int(d) - perDecade*decade + 1000
	v, _ := strconv.ParseFloat(fmt.Sprintf("%de%d", digits, decade-3), 64) // no error: within 1e-34 and 1e43
	return v
}

// calibration is a search for a small σ, from first to last, that is within the budget.
type calibration struct {
	Releases
	budget      loss.Approx
	question    Question
	first, last decimal
}

// leap is the factor by which the stride of the search increases until σ is bracketed.
const leap = 8

// search finds, by bisection, a σ within the budget that is next to a σ that exceeds the budget.
func (c calibration) search() (decimal, Verdict, error) {
	lo, hi := c.first-1, c.last+1 // lo exceeds the budget or is out of range; hi is within the budget or out of range
	var best Verdict
	var short error // verdict at lo
	next := min(max(c.start(), c.first), c.last)
	for stride := decimal(1); hi-lo > 1; stride *= leap {
		list, err := c.mechanisms(next.value())
		if err != nil {
			return 0, Verdict{}, err
		}
		cost, _, err := Best(list, c.question)
		switch {
		case err == nil && cost.Loss.Epsilon <= c.budget.Epsilon:
			hi, best, next = next, cost, next-stride
		case err == nil || errors.Is(err, ErrNotApplicable):
			lo, short, next = next, err, next+stride
			if err == nil {
				short = fmt.Errorf("with it, %s gives epsilon %v", cost.Accountant.Name(), cost.Loss.Epsilon)
			}
		default:
			return 0, Verdict{}, err
		}
		if next <= lo || next >= hi {
			next = lo + (hi-lo)/2
		}
	}
	if hi > c.last {
		cure := "raise epsilon or delta, or make fewer releases"
		if c.Sampling < 1 {
			cure += ", or leave sampling out: noise that is enough without it is also enough with it"
		}
		return 0, Verdict{}, notApplicable("no standard deviation up to %v keeps %d releases within epsilon %v at "+
			"delta %v: %v; %s", c.last.value(), c.Count, c.budget.Epsilon, c.budget.Delta, short, cure)
	}
	return hi, best, nil
}

// start returns the first σ of the search, at which the releases together have the budget's μ. With
// sampling, it uses the limit for many releases (Dong, Roth and Su, 2022, Corollary 5.4 without its
// last terms): μ² = q²·k·(e^(1/σ²) − 1).
func (c calibration) start() decimal {
	square, err := budgets.LargestSquare(c.budget.Epsilon, c.budget.Delta, budgets.GDP)
	if err != nil {
		return c.first + (c.last-c.first)/2
	}
	each, _ := square.Float64()
	each /= float64(c.Count)
	if c.Sampling < 1 {
		each = math.Log1p(each / (c.Sampling * c.Sampling))
	}
	return floorDecimal(c.Contribution / math.Sqrt(each))
}
