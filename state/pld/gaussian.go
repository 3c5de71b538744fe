package pld

import (
	"cmp"
	"math"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
)

// MinSigma and MaxSigma are the limits of Sigma for all pairs with Gaussian noise.
const (
	MinSigma = 0x1p-10
	MaxSigma = 0x1p40
)

// Gaussian is the pair of the Gaussian mechanism: N(1, σ²) and N(0, σ²).
type Gaussian struct {
	Sigma float64 // standard deviation of the noise divided by the L2 sensitivity, in [MinSigma, MaxSigma]
}

// Validate returns a *units.RangeError if sigma is out of range.
func (g Gaussian) Validate() error { return inRange("sigma", g.Sigma, MinSigma, MaxSigma) }

func (g Gaussian) mixture() SubsampledGaussian {
	return SubsampledGaussian{Sigma: g.Sigma, Sampling: 1}
}

func (g Gaussian) symmetric() bool { return true }

func (g Gaussian) extent(d Direction, tail float64) extent { return g.mixture().extent(d, tail) }

func (g Gaussian) fill(d Direction, c *cells) error { return g.mixture().fill(d, c) }

// SubsampledGaussian is the pair of the Gaussian mechanism on a Poisson sample, which includes
// every individual independently with probability q. Inputs differ by the presence of one
// individual. The pair is q·N(1, σ²) + (1−q)·N(0, σ²) and N(0, σ²) (Zhu, Dong and Wang, 2022,
// Theorem 11; Koskela, Tobaben and Honkela, Appendix D.3).
type SubsampledGaussian struct {
	Sigma    float64 // as in Gaussian
	Sampling float64 // q, above 0 and at most 1
}

// Validate returns a *units.RangeError if sigma or sampling is out of range.
func (g SubsampledGaussian) Validate() error {
	return cmp.Or(inRange("sigma", g.Sigma, MinSigma, MaxSigma), checkSampling(g.Sampling))
}

func (g SubsampledGaussian) symmetric() bool { return g.Sampling == 1 }

// lowerTail, in standard deviations, determines the low end of a default grid. A probability below
// 2e-19 is moved up to the low end.
const lowerTail = 9

func (g SubsampledGaussian) extent(d Direction, tail float64) extent {
	m := g.line()
	z := tailPoint(tail)
	spread := m.loss(m.mu/2+1.5) - m.loss(m.mu/2-1.5)
	e := extent{low: m.loss(-lowerTail), high: m.loss(m.mu + z), spread: spread / 3}
	if d == Add {
		e.low, e.high = -m.loss(lowerTail), -m.loss(-z)
	}
	return e
}

// line returns the pair in units of the noise: (1−q)·N(0, 1) + q·N(μ, 1) and N(0, 1). μ = 1/σ is
// rounded up, which only increases the distance between both.
func (g SubsampledGaussian) line() mixtureLine {
	return mixtureLine{mu: rounding.QuotientUp(1, g.Sigma), q: g.Sampling}
}

// mixtureLine is the loss as a function of the output x, in the direction Remove: ln(1 − q + q·e^v)
// with v = μ(x − μ/2). It increases with x.
type mixtureLine struct{ mu, q float64 }

func (m mixtureLine) loss(x float64) float64 {
	v := m.mu * (x - m.mu/2)
	switch {
	case m.q == 1:
		return v
	case v > 0:
		return v + math.Log(m.q+float64((1-m.q)*math.Exp(-v)))
	}
	return math.Log(1 - m.q + float64(m.q*math.Exp(v)))
}

// boundary returns an x whose loss is close to l, and a bound on the difference. The bound always
// holds, because all terms of loss are positive: its error is a few units of 2^-53 of its parts.
func (m mixtureLine) boundary(l float64) (x, errBound float64) {
	switch {
	case m.q == 1:
		x = l/m.mu + m.mu/2
	case l > 0:
		x = (l+math.Log1p(float64((m.q-1)*math.Exp(-l)))-math.Log(m.q))/m.mu + m.mu/2
	default:
		odds := (math.Expm1(l) + m.q) / m.q
		if odds <= 0 {
			return math.Inf(-1), max(0, l-math.Log1p(-m.q)) + elementaryError
		}
		x = math.Log(odds)/m.mu + m.mu/2
	}
	computed := m.loss(x)
	parts := m.mu*(math.Abs(x)+m.mu) + math.Abs(computed)
	if m.q < 1 {
		parts += 2 // the logarithm of a number with a small relative error
	}
	return x, math.Abs(computed-l) + parts*0x1p-50
}

func (g SubsampledGaussian) fill(d Direction, c *cells) error {
	m := g.line()
	c.maxAdditions = 3
	lower := m.edge(d, c.loss(c.lo))
	c.slack = lower.errBound
	end := mixtureEdge{zero: edge{x: math.Inf(-1)}, one: edge{x: math.Inf(-1)}}
	if d == Add {
		end = mixtureEdge{zero: edge{x: math.Inf(1)}, one: edge{x: math.Inf(1)}}
	}
	p, _ := m.between(d, end, lower, c.loss(c.lo))
	c.add(c.lo, p)
	for i := c.lo; i < c.last(); i++ {
		upper := m.edge(d, c.loss(i+1))
		if d == Remove && upper.zero.x < lower.zero.x || d == Add && upper.zero.x > lower.zero.x {
			upper.zero, upper.one = lower.zero, lower.one
		}
		c.slack = max(c.slack, upper.errBound)
		p, excess := m.between(d, lower, upper, c.loss(i))
		c.spread(i, p, excess)
		lower = upper
	}
	end.zero.x, end.one.x = -end.zero.x, -end.one.x
	p, excess := m.between(d, lower, end, c.loss(c.last()))
	c.addBeyond(p+0x1p-900, excess+0x1p-900) // 0x1p-900 covers underflow
	return nil
}

// mixtureEdge is the output at which the loss has a given value. zero and one are its positions
// relative to the two normal distributions.
type mixtureEdge struct {
	zero, one edge
	errBound  float64 // bound on the distance of the loss from that value
}

// edge returns the output at which the loss in direction d is l. The losses of the two directions
// are negatives of each other.
func (m mixtureLine) edge(d Direction, l float64) mixtureEdge {
	if d == Add {
		l = -l
	}
	x, errBound := m.boundary(l)
	return mixtureEdge{zero: edgeAt(x), one: edgeAt(x - m.mu), errBound: errBound}
}

// maxExponent is the greatest ε for which e^ε is computed. For a greater ε, the excess at
// maxExponent is an upper bound: losses are roughly rounded up to the next grid point.
const maxExponent = 700

// between returns upper bounds on the probability p of the outputs between two edges under P, and
// on their excess P − e^ε·Q, where ε is the lower loss.
//
// The excess is computed from factors without cancellation. With the masses m₀ and m₁ of the two
// normal distributions, it is q·m₁ − (e^ε − 1 + q)·m₀ in the direction Remove and (1 − (1−q)e^ε)·m₀
// − q·e^ε·m₁ in the direction Add.
func (m mixtureLine) between(d Direction, lower, upper mixtureEdge, epsilon float64) (p, excess float64) {
	if d == Add {
		lower, upper = upper, lower
	}
	zero, zeroErr := normalMass(lower.zero, upper.zero)
	one, oneErr := normalMass(lower.one, upper.one)
	tau := lower.errBound + upper.errBound
	epsilon = min(epsilon, maxExponent)
	power, less := math.Exp(epsilon), math.Expm1(epsilon)
	margin := elementaryError*(math.Abs(less)+m.q+power*m.q) + tau*power
	if d == Remove {
		p = (1-m.q)*(zero+zeroErr) + m.q*(one+oneErr)
		factor := less + m.q - margin
		excess = m.q*(one+oneErr)*(1+elementaryError) - least(factor, zero, zeroErr)
		excess += elementaryError * (math.Abs(factor)*zero + math.Abs(excess))
		return p * (1 + elementaryError), excess
	}
	p = zero + zeroErr
	factor := m.q*power - less + margin
	excess = -least(-factor, zero, zeroErr) + elementaryError*math.Abs(factor)*zero
	excess -= power * m.q * (1 - elementaryError - tau) * max(0, one-oneErr)
	return p, excess + elementaryError*math.Abs(excess)
}

// least returns the least value of factor·x for x ≥ 0 with |x − mass| ≤ errBound.
func least(factor, mass, errBound float64) float64 {
	if factor >= 0 {
		return factor * max(0, mass-errBound)
	}
	return factor * (mass + errBound)
}
