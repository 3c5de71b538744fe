package pld

import (
	"errors"
	"math"
)

// composition holds the inputs that are the same for all tilts.
type composition struct {
	factors      []factor
	lattice      lattice
	infinityMass float64 // upper bound on the probability that some loss is infinite
	inherent     float64
	options      Options
}

// intervalGrowth is the factor by which the interval is increased after a grid was too large.
const intervalGrowth = 4

// composeFactors returns the curve of the composition, on the finest grid that o permits. Every
// grid is computed from the pairs themselves, so that rounding errors do not accumulate.
func composeFactors(factors []factor, o Options) (curve, error) {
	factors, err := merged(factors, o)
	if err != nil {
		return curve{}, err
	}
	if factors, err = coarseEnough(factors, o); err != nil {
		return curve{}, err
	}
	for {
		out, err := onGrid(factors, o)
		var size *SizeError
		if !errors.As(err, &size) || size.Interval >= MaxInterval {
			return out, err
		}
		next, changed, failed := coarsened(factors, min(intervalGrowth*size.Interval, MaxInterval))
		if failed != nil || !changed {
			return out, errors.Join(err, failed)
		}
		factors = next
	}
}

// tolerance is roughly the relative error of ε on a grid that is chosen for one δ.
const tolerance = 0x1p-16

// coarseEnough returns the factors on a grid as coarse as Options.Delta permits. Splitting a loss
// between two points at distance h, without changing the mean of e^−loss, adds at most θ(θ+1)h²/8
// to a cumulant K(θ). With Chernoff's ε = (K(θ) − ln δ)/θ for the best θ, n losses add n(θ+1)h²/8
// to ε. The curve is an upper bound on any grid.
func coarseEnough(factors []factor, o Options) ([]factor, error) {
	if o.Delta == 0 {
		return factors, nil
	}
	s := shapeOf(factors)
	theta, ok := s.solve(math.Log(o.Delta), 0)
	_, epsilon, _ := s.cumulants(theta)
	count := 0.0
	for _, n := range s.counts {
		count += n
	}
	interval := math.Sqrt(8 * tolerance * max(epsilon, 0) / (count * (theta + 1)))
	if !ok || interval < MinInterval {
		return factors, nil
	}
	factors, _, err := coarsened(factors, min(powerBelow(interval), MaxInterval))
	return factors, err
}

// coarsened returns the factors with at least the given interval, and whether any factor changed.
// It does not change factors whose interval the caller has fixed.
func coarsened(factors []factor, interval float64) (next []factor, changed bool, err error) {
	for _, f := range factors {
		if f.source != nil && f.interval < interval {
			m, err := f.source.measure(interval)
			if err != nil {
				return nil, false, err
			}
			f.measure, changed = m, true
		}
		next = append(next, f)
	}
	return next, changed, nil
}

func onGrid(factors []factor, o Options) (curve, error) {
	c, err := newComposition(factors, o)
	if err != nil {
		return curve{}, err
	}
	if c.infinityMass == 1 {
		return newCurve(c.lattice, c.start(), c.start(), 1, c.inherent), nil
	}
	if c.directCost() <= directLimit {
		return c.direct()
	}
	return c.transformed()
}

func newComposition(factors []factor, o Options) (*composition, error) {
	c := &composition{factors: factors, options: o}
	c.lattice.unit = factors[0].interval
	for _, f := range factors {
		c.lattice.unit = min(c.lattice.unit, f.interval)
	}
	first, span, unlost, uninherent := 0.0, 0.0, 0.0, 0.0
	for _, f := range factors {
		scale := f.interval / c.lattice.unit
		first += float64(f.lo) * scale * float64(f.count)
		if len(f.mass) > 1 {
			c.lattice.step = gcd(c.lattice.step, f.stride*int(scale))
		}
		span += float64(len(f.mass)-1) * float64(f.stride) * scale * float64(f.count)
		unlost += float64(f.count) * math.Log1p(-f.infinityMass)
		uninherent += float64(f.count) * math.Log1p(-f.inherent)
	}
	c.lattice.step = max(1, c.lattice.step)
	// Beyond 2^52, the indices and the losses would no longer be exact.
	if math.Abs(first)+span > 1<<52 {
		return nil, &SizeError{Points: span / float64(c.lattice.step), Limit: o.MaxPoints, Interval: c.lattice.unit}
	}
	c.lattice.first = int(first)
	c.lattice.last = int(span) / c.lattice.step
	c.infinityMass = min(1, -math.Expm1(unlost*(1+elementaryError*float64(len(factors)+2)))*(1+elementaryError))
	c.inherent = -math.Expm1(uninherent) * (1 - elementaryError*float64(len(factors)+8))
	return c, nil
}

// stepOf returns the distance between adjacent masses of f, in lattice points.
func (c *composition) stepOf(f factor) int {
	return f.stride * int(f.interval/c.lattice.unit) / c.lattice.step
}

// start returns the greatest index whose loss is at most 0, or 0 if there is none. The curve below
// this index is not needed.
func (c *composition) start() int { return max(0, min(c.lattice.last, c.lattice.index(0))) }

// tilted is a convolution of tilted measures on the part [low, low + len(value)) of the lattice.
// The probability of loss(low+j) is value[j]·e^(−θ·loss(low+j) + scale), up to an absolute error of
// errBound in value[j] and a relative error of relative in the product.
type tilted struct {
	low      int
	value    []float64
	errBound float64
	relative float64
	theta    float64
	scale    float64
	beyond   float64 // upper bound on the probability of losses above the window
}

// accumulate lowers the curve to the upper bound on δ that follows from t. With the tails T_j =
// Σ_(k>j) c_k and the distance h between losses, it uses, from the greatest j downward,
//
//	δ_j = Σ_(k>j) c_k(1 − e^((j−k)h)) = e^(−h)·δ_(j+1) + (1 − e^(−h))·T_j,
//
// in which all terms are positive.
func (c *composition) accumulate(t tilted, to *curve) {
	gap := float64(c.lattice.step) * c.lattice.unit
	keep, gain := math.Exp(-gap), -math.Expm1(-gap)
	base := c.infinityMass + t.beyond
	tail, delta := 0.0, 0.0
	for j := min(len(t.value)-1, c.lattice.last-t.low); j >= 0; j-- {
		index := t.low + j
		if index < to.from {
			break
		}
		delta = keep*delta + gain*tail
		// One rounding of a relative 2^-52 per step, and the roundings in undoing the tilt.
		margin := 1 + t.relative + float64(len(t.value)-j+8)*0x1p-50
		bound := (base + delta*margin) * boundMargin
		if !(bound < 1) {
			break
		}
		to.lower(index, bound)
		exponent := t.scale - float64(t.theta*c.lattice.loss(index))
		size := 1 + (math.Abs(t.scale)+math.Abs(exponent)+8)*0x1p-50
		tail += max(0, t.value[j]+t.errBound) * math.Exp(exponent) * size
	}
	for index := max(to.from, t.low+len(t.value)); index-to.from < len(to.delta); index++ {
		to.lower(index, base*boundMargin)
	}
	to.floor = min(to.floor, base*boundMargin)
}
