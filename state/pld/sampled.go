package pld

import (
	"cmp"
	"math"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Sampled is the pair of a mechanism on a Poisson sample, which includes every individual
// independently with probability q. Inputs differ by the presence of one individual. The pair is
// q·P + (1−q)·Q and Q, where (P, Q) is the mechanism's own pair for such inputs (Zhu, Dong and
// Wang, 2022, Theorem 11). For Gaussian it is SubsampledGaussian, which is exact. Any other pair is
// sampled loss by loss; a pair with a density is first discretised.
type Sampled struct {
	Pair     Pair    // pair of the mechanism on the sample
	Sampling float64 // q, from 2^-60 to 1; if it is 1, the result is Pair itself
}

// Validate returns a *units.RangeError if sampling or a parameter of Pair is out of range.
func (s Sampled) Validate() error { return validateSampling(s.Pair, s.Sampling) }

func validateSampling(p Pair, sampling float64) error {
	if p == nil {
		return &units.RangeError{Parameter: "pair", Value: 0, Range: "set to the pair of the mechanism on the sample"}
	}
	return cmp.Or(checkSampling(sampling), p.Validate())
}

func checkSampling(sampling float64) error {
	return units.Require(sampling >= 0x1p-60 && sampling <= 1, "sampling", sampling, "at least 2^-60 and at most 1")
}

// exact returns an equal pair that need not be sampled loss by loss, and whether there is one.
func (s Sampled) exact() (Pair, bool) {
	if g, ok := s.Pair.(Gaussian); ok {
		return SubsampledGaussian{Sigma: g.Sigma, Sampling: s.Sampling}, true
	}
	return s.Pair, s.Sampling == 1
}

func (s Sampled) symmetric() bool {
	p, exact := s.exact()
	return exact && p.symmetric()
}

// loss returns the loss on the sample, rounded up, at an output whose loss without sampling is l.
// It is ln(1 − q + q·e^l) in the direction Remove and −ln(1 − q + q·e^−l) in the direction Add.
// Both increase with l. All terms in the logarithm are positive, so it is exact to a few units in
// the last place.
func (s Sampled) loss(d Direction, l float64) float64 {
	if d == Add {
		l = -l
	}
	value := 0.0
	switch {
	case l > 1:
		value = l + math.Log(s.Sampling+float64((1-s.Sampling)*math.Exp(-l)))
	case s.Sampling < 0.5:
		value = math.Log1p(float64(s.Sampling * math.Expm1(l)))
	default:
		value = math.Log(1 - s.Sampling + float64(s.Sampling*math.Exp(l)))
	}
	errBound := (math.Abs(l)+1)*0x1p-49 + math.Abs(value)*0x1p-49
	if s.Sampling < 0.5 && l <= 1 {
		// The argument of Log1p is above −1/2, so Log1p less than doubles its relative error.
		errBound = math.Abs(value) * 0x1p-46
	}
	if d == Add {
		value = -value
	}
	return value + errBound
}

// maxAbsentLoss returns the loss −ln(1 − q), rounded up, at an output possible only without the
// individual.
func (s Sampled) maxAbsentLoss() float64 { return -math.Log1p(-s.Sampling) * (1 + elementaryError) }

func (s Sampled) extent(d Direction, tail float64) extent {
	if p, exact := s.exact(); exact {
		return p.extent(d, tail)
	}
	unsampled := s.Pair.extent(d, min(0.5, tail/s.Sampling))
	e := extent{low: s.loss(d, unsampled.low), high: s.loss(d, unsampled.high), spread: s.steepest(d,
		unsampled) * unsampled.spread}
	if d == Add {
		e.high = max(e.high, min(s.maxAbsentLoss(), s.loss(d, unsampled.high)+1))
	}
	return e
}

// steepest returns about the greatest derivative of loss in an extent: q·e^l/(1 − q + q·e^l).
func (s Sampled) steepest(d Direction, unsampled extent) float64 {
	l := unsampled.high
	if d == Add {
		l = -unsampled.low
	}
	return s.Sampling / (s.Sampling + float64((1-s.Sampling)*math.Exp(-l)))
}

const (
	finer      = 4       // factor by which the unsampled pair is discretised more finely than the grid
	finestSize = 1 << 20 // maximum number of points of that discretisation
)

// fill samples the pair's distribution loss by loss. With c = 1 − e^ε·(1−q), the δ of the sampled
// pair at ε is q·δ_P(ln((e^ε−1+q)/q)) in the direction Remove, and c·δ_P(ln(q·e^ε/c)) in the
// direction Add. Sampling a distribution that dominates the unsampled pair at every real ε thus
// gives a distribution that dominates the sampled pair.
func (s Sampled) fill(d Direction, c *cells) error {
	if p, exact := s.exact(); exact {
		return p.fill(d, c)
	}
	const tail = 1e-290
	unsampled := s.Pair.extent(d, tail)
	interval := powerBelow(c.interval / finer / s.steepest(d, unsampled))
	interval = max(interval, powerBelow((unsampled.high-unsampled.low)/finestSize)*2)
	grid, err := unsampled.grid(min(MaxInterval, max(MinInterval, interval)), MaxSize)
	if err != nil {
		return err
	}
	inner := newCells(grid.Interval, grid.Lowest, grid.Size)
	var total sum // placed probability, rounded down
	inner.exact = func(loss, p float64) {
		if p == 0 {
			return
		}
		if d == Remove {
			p = (s.Sampling*p + (1-s.Sampling)*underQ(p, loss)) * (1 + elementaryError)
		}
		total.add(p)
		c.maxAdditions++
		c.addAtom(s.loss(d, loss), p)
	}
	if err := s.Pair.fill(d, inner); err != nil {
		return err
	}
	inner.settle()
	for i, p := range inner.mass {
		inner.exact(inner.loss(inner.lo+i), p)
	}
	c.maxAdditions += 2
	if d == Add {
		// At outputs that are impossible under P, an absent individual's finite loss applies.
		if inner.infinityMass > 0 {
			c.addAtom(s.maxAbsentLoss(), inner.infinityMass)
		}
		return nil
	}
	unbounded := s.Sampling * inner.infinityMass * (1 + elementaryError)
	c.infinityMass += unbounded
	c.cut += s.Sampling * inner.cut * (1 - elementaryError)
	// The rest of Q, where P has no mass, has the least possible loss. The placed probability
	// includes margins, so total.rest may be negligibly below the true rest.
	if s.Sampling < 1 {
		total.add(unbounded)
		c.addAtom(math.Log1p(-s.Sampling)*(1-elementaryError), total.rest())
	}
	return nil
}

// underQ returns the probability under Q of an event with probability p under P and the given loss:
// p·e^−loss, rounded up.
func underQ(p, loss float64) float64 {
	if loss > -600 {
		return p * math.Exp(-loss) * (1 + elementaryError)
	}
	return math.Exp(min(0, logOf(p)-loss)) * (1 + elementaryError*(1000+2*math.Abs(loss)))
}

// sum adds up numbers and collects the rounding errors in a second number (Neumaier, 1974).
type sum struct{ value, low float64 }

func (s *sum) add(p float64) {
	value, rest := rounding.TwoSum(s.value, p)
	s.value, s.low = value, s.low+rest
}

// rest returns 1 minus the sum, rounded up.
func (s *sum) rest() float64 { return max(0, (1-s.value)-s.low+0x1p-50) }

// WithoutReplacement is the pair of a mechanism on a sample of fixed size without replacement, m of
// n individuals. Inputs differ by the replacement of one individual, and n is public. The pair is
// computed from the mechanism's pair (P, Q) for samples that differ in one individual. With q =
// m/n, its δ at ε ≥ 0 is the δ of q·P + (1−q)·Q against Q, and at ε < 0 it is the δ of Q against
// q·P + (1−q)·Q (Zhu, Dong and Wang, 2022, Theorem 11). A single pair has both curves: it has the
// losses above 0 of the first, the losses below 0 of the second, and the rest at 0.
//
// For Gaussian noise, the sensitivity is the greatest distance between the values of two samples
// that differ in one individual. It is twice one contribution if contributions may be opposite.
type WithoutReplacement struct {
	Pair     Pair    // pair of the mechanism on the sample; it must be symmetric, like all unsampled pairs
	Sampling float64 // q = m/n, from 2^-60 to 1; if it is 1, the result is Pair itself
}

// Validate returns a *units.RangeError if sampling or a parameter of Pair is out of range, or if
// Pair is not symmetric.
func (w WithoutReplacement) Validate() error {
	if err := validateSampling(w.Pair, w.Sampling); err != nil {
		return err
	}
	if !w.Pair.symmetric() {
		return &units.RangeError{Parameter: "pair", Value: 0, Range: "a pair with the same distribution in both " +
			"directions"}
	}
	return nil
}

func (w WithoutReplacement) symmetric() bool { return true }

func (w WithoutReplacement) poisson() Sampled { return Sampled(w) }

func (w WithoutReplacement) extent(_ Direction, tail float64) extent {
	up, down := w.poisson().extent(Remove, tail), w.poisson().extent(Add, tail)
	return extent{low: min(0, down.low), high: max(0, up.high), spread: min(up.spread, down.spread)}
}

func (w WithoutReplacement) fill(_ Direction, c *cells) error {
	if w.Sampling == 1 {
		return w.Pair.fill(Remove, c)
	}
	lo, last := min(c.lo, -1), max(c.last(), 1)
	if last-lo+1 > MaxSize {
		return &SizeError{Points: float64(last - lo + 1), Limit: MaxSize, Interval: c.interval}
	}
	up, down := newCells(c.interval, lo, last-lo+1), newCells(c.interval, lo, last-lo+1)
	for d, side := range map[Direction]*cells{Remove: up, Add: down} {
		if err := w.poisson().fill(d, side); err != nil {
			return err
		}
		side.settle()
	}
	// above is the mass of the first direction with a loss above 0, notBelow the mass of the second
	// direction with a loss of at least 0, and gap their difference of δ at 0. No sum exceeds 1.
	var above, notBelow, gap sum
	for i := lo; i <= last; i++ {
		p, other, share := up.mass[i-lo], down.mass[i-lo], -math.Expm1(-c.loss(i))
		switch {
		case i < 0:
			c.add(i, other)
		case i == 0:
			notBelow.add(other)
		default:
			c.add(i, p)
			above.add(p)
			notBelow.add(other)
			gap.add(other * share)
			gap.add(-p * share)
		}
	}
	c.infinityMass += up.infinityMass
	c.cut += up.cut
	above.add(up.infinityMass)
	notBelow.add(down.infinityMass)
	gap.add(down.infinityMass)
	gap.add(-up.infinityMass)
	c.add(0, max(0, (notBelow.value-above.value)+(notBelow.low-above.low)+0x1p-50))
	// Both directions have the same δ at 0, up to rounding. Mass that the first direction lacks is
	// put at the smallest positive loss, where it adds much less to δ than at infinity.
	c.add(1, max(0, gap.value+gap.low+0x1p-48)/c.unitExcess)
	c.maxAdditions += 4
	return nil
}

// logOf returns ln p for p > 0. It is also correct for subnormal numbers, for which math.Log is
// wrong on amd64 (Go 1.26): for the least number, math.Log returns −709 instead of −744.
func logOf(p float64) float64 {
	if p < 0x1p-1022 {
		return math.Log(p*0x1p64) - 64*math.Ln2
	}
	return math.Log(p)
}
