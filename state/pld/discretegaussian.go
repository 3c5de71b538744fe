package pld

import (
	"cmp"
	"math"

	"github.com/tollgate-dp/tollgate/state/units"
)

// MaxDiscreteSigma is the maximum σ of the discrete Gaussian pair, whose integers are added one by
// one.
const MaxDiscreteSigma = 1 << 20

// DiscreteGaussian is the pair of the discrete Gaussian mechanism: noise on the integers with
// probability proportional to e^(−x²/2σ²), around 0 and around Δ (Canonne, Kamath and Steinke,
// 2020, Definition 1). The noise is log-concave, so the pair also dominates the pairs of all
// smaller differences.
type DiscreteGaussian struct {
	Sigma       float64 // σ, in [2^-3, MaxDiscreteSigma]; for small σ, slightly above the standard deviation
	Sensitivity int     // Δ, from 1 to 2^20
}

// Validate returns a *units.RangeError if sigma or sensitivity is out of range.
func (g DiscreteGaussian) Validate() error {
	return cmp.Or(inRange("sigma", g.Sigma, 0x1p-3, MaxDiscreteSigma),
		units.Require(g.Sensitivity >= 1 && g.Sensitivity <= 1<<20, "sensitivity", float64(g.Sensitivity),
			"an integer from 1 to 2^20"))
}

func (g DiscreteGaussian) symmetric() bool { return true }

// loss returns the loss at output x, noise around 0 compared with that around Δ: Δ(Δ − 2x)/2σ².
func (g DiscreteGaussian) loss(x int) float64 {
	d := float64(g.Sensitivity)
	return d * (d - 2*float64(x)) / (2 * g.Sigma * g.Sigma)
}

func (g DiscreteGaussian) extent(_ Direction, tail float64) extent {
	z := int(math.Ceil(g.Sigma*tailPoint(tail))) + 1
	spread := float64(g.Sensitivity) / g.Sigma
	return extent{low: g.loss(int(math.Ceil(lowerTail * g.Sigma))), high: g.loss(-z), spread: spread}
}

// weight returns e^(−x²/2σ²), with a relative error of at most elementaryError·(2 + x²/2σ²).
func (g DiscreteGaussian) weight(x int) float64 {
	r := float64(x) / g.Sigma
	return math.Exp(-r * r / 2)
}

// maxDistance is the distance, in units of σ, at which weights fall below about e^−700.
const maxDistance = 37.4

func (g DiscreteGaussian) fill(_ Direction, c *cells) error {
	end := int(maxDistance * g.Sigma)
	total := 0.0
	for x := end; x > 0; x-- { // smallest weight first
		total += g.weight(x)
	}
	// The sum over all integers exceeds this finite sum, which has at most one rounding of a
	// relative 2^-53 per term.
	total = (1 + 2*total) * (1 - float64(end+16)*0x1p-53 - elementaryError)
	c.maxAdditions = end
	for x := -end; x <= end; x++ {
		r := float64(x) / g.Sigma
		p := g.weight(x) / total * (1 + elementaryError*(2+r*r))
		loss := g.loss(x)
		c.addAtom(loss+math.Abs(loss)*0x1p-50, p)
	}
	// Beyond the end, each term is less than e^(−(2·end+1)/2σ²) times the previous term. Losses of
	// outputs above the end are moved to the loss at the end, those below −end to infinity.
	ratio := math.Exp(-(2*float64(end) + 1) / (2 * g.Sigma * g.Sigma))
	// The addend 0x1p-900 covers underflow.
	rest := (g.weight(end)/total*ratio/(-math.Expm1(math.Log(ratio))))*(1+0x1p-30) + 0x1p-900
	c.addAtom(g.loss(end), rest)
	c.infinityMass += rest
	c.cut += rest
	return nil
}
