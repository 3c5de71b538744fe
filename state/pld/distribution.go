package pld

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/tollgate-dp/tollgate/state/units"
)

// Options determines how finely a distribution is computed. A zero field means the default.
type Options struct {
	// Interval is the distance between two losses of the grid in nats. It is rounded down to a
	// power of two. 0 means 2^-13 (1.2e-4), or less, within 2^19 points, for a pair whose loss has
	// a standard deviation below 64 such steps or a bounded range below 4096 such steps. A
	// composition uses the finest interval of its parts. If that would need more than MaxPoints
	// points, the intervals of parts whose Interval is 0 are multiplied by four, repeatedly up to
	// MaxInterval. The bound holds on every grid, but is looser on a coarser grid.
	Interval float64
	// MinDelta is the smallest δ that queries will use, between 1e-280 and 0.1; 0 means 1e-20. The
	// work is proportional to the square root of its logarithm. A composition uses the smallest
	// MinDelta of its parts.
	MinDelta float64
	// MaxPoints is the maximum number of points in a grid, from 16 to MaxSize; 0 means 2^22, which
	// needs about 200 MB for composing. A composition uses the greatest MaxPoints of its parts.
	MaxPoints int
	// Delta is the only δ that queries will use, between 0 and 1; 0 means any δ. With a Delta, the
	// grid is only as fine as is needed for a relative error of about 1.5e-5 in ε, and is
	// transformed once. Other δ have looser bounds. A composition whose parts differ in Delta uses
	// 0.
	Delta float64
}

const (
	defaultInterval  = 0x1p-13
	defaultMinDelta  = 1e-20
	defaultMaxPoints = 1 << 22
	defaultRange     = 1 << 19 // maximum number of points with the default Interval
	stepsPerSpread   = 64
	stepsPerRange    = 4096  // for a bounded loss, because ε is near the greatest loss if δ is small
	tailShare        = 1e-12 // fraction of MinDelta that may be cut off at the top of a single pair
)

func (o Options) withDefaults() (Options, error) {
	o.MinDelta = cmp.Or(o.MinDelta, defaultMinDelta)
	o.MaxPoints = cmp.Or(o.MaxPoints, defaultMaxPoints)
	return o, cmp.Or(
		units.Require(o.Interval == 0 || o.Interval >= MinInterval && o.Interval <= MaxInterval, "interval", o.Interval,
			"0 for the default, or between 2^-40 and 1"),
		units.Require(o.MinDelta >= 1e-280 && o.MinDelta <= 0.1, "min_delta", o.MinDelta,
			"0 for the default, or between 1e-280 and 0.1"),
		units.Require(o.MaxPoints >= 16 && o.MaxPoints <= MaxSize, "max_points", float64(o.MaxPoints),
			"0 for the default, or between 16 and 2^26"),
		units.Require(o.Delta >= 0 && o.Delta < 1, "delta", o.Delta, "at least 0 and below 1"),
	)
}

// powerBelow returns the greatest power of two that is at most x > 0.
func powerBelow(x float64) float64 {
	_, exponent := math.Frexp(x)
	return math.Ldexp(1, exponent-1)
}

func (o Options) intervalFor(e extent) float64 {
	if o.Interval != 0 {
		return powerBelow(o.Interval)
	}
	interval := defaultInterval
	if e.spread > 0 {
		interval = min(interval, powerBelow(e.spread/stepsPerSpread))
	}
	if span := e.high - e.low; span > 0 {
		if span <= 5*e.spread { // no tails
			interval = min(interval, powerBelow(span/stepsPerRange))
		}
		interval = max(interval, powerBelow(span/float64(min(defaultRange, o.MaxPoints/4))))
	}
	return min(MaxInterval, max(MinInterval, interval))
}

// factor is the composition of a measure with itself, count times.
type factor struct {
	*measure
	count int
}

// Distribution is the privacy loss distribution of one mechanism or of a composition of mechanisms.
// It is immutable and safe for concurrent use. The first query computes the composition for all
// queries.
type Distribution struct {
	options Options
	sides   [][]factor // by Direction; a single entry if all pairs are symmetric

	once   sync.Once
	curves []curve
	err    error
}

// side returns the factors for a Direction.
func (d *Distribution) side(direction int) []factor { return d.sides[min(direction, len(d.sides)-1)] }

// New returns the distribution of a single mechanism with dominating pair p. The error is a
// *units.RangeError or a *SizeError.
func New(p Pair, o Options) (*Distribution, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	tail := o.MinDelta * tailShare
	e := p.extent(Remove, tail)
	directions := []Direction{Remove}
	if !p.symmetric() {
		other := p.extent(Add, tail)
		e = extent{low: min(e.low, other.low), high: max(e.high, other.high), spread: min(e.spread, other.spread)}
		directions = append(directions, Add)
	}
	interval := o.intervalFor(e)
	d := &Distribution{options: o}
	for _, direction := range directions {
		from := &source{pair: p, direction: direction, tail: tail, limit: o.MaxPoints}
		if _, gaussian := p.(Gaussian); gaussian && o.Interval == 0 {
			// Gaussians are merged and discretised during composition.
			if _, err := e.grid(interval, o.MaxPoints); err != nil {
				return nil, err
			}
			d.sides = append(d.sides, []factor{{&measure{interval: interval, stride: 1, source: from}, 1}})
			continue
		}
		m, err := from.measure(interval)
		if err != nil {
			return nil, err
		}
		if o.Interval != 0 {
			m.source = nil
		}
		d.sides = append(d.sides, []factor{{m, 1}})
	}
	return d, nil
}

// maxCount is the maximum number of mechanisms in a composition.
const maxCount = 1 << 32

// Compose returns the distribution of the composition of d and all others. The order does not
// matter. The error is a *units.RangeError if there are more than 2^32 mechanisms in total.
func (d *Distribution) Compose(others ...*Distribution) (*Distribution, error) {
	c := &Distribution{options: d.options}
	directions := len(d.sides)
	for _, o := range others {
		directions = max(directions, len(o.sides))
		c.options.MinDelta = min(c.options.MinDelta, o.options.MinDelta)
		c.options.MaxPoints = max(c.options.MaxPoints, o.options.MaxPoints)
		if c.options.Delta != o.options.Delta {
			c.options.Delta = 0
		}
	}
	for direction := range directions {
		lists := [][]factor{d.side(direction)}
		for _, o := range others {
			lists = append(lists, o.side(direction))
		}
		merged, err := mergeFactors(lists)
		if err != nil {
			return nil, err
		}
		c.sides = append(c.sides, merged)
	}
	return c, nil
}

// mergeFactors concatenates the lists and adds up the counts of equal measures.
func mergeFactors(lists [][]factor) ([]factor, error) {
	var merged []factor
	position := make(map[*measure]int)
	total := 0
	for _, list := range lists {
		for _, f := range list {
			total += f.count
			if total > maxCount {
				return nil, &units.RangeError{Parameter: "count", Value: float64(total),
					Range: "at most 2^32 mechanisms in total"}
			}
			if i, ok := position[f.measure]; ok {
				merged[i].count += f.count
				continue
			}
			position[f.measure] = len(merged)
			merged = append(merged, f)
		}
	}
	return merged, nil
}

// Power returns the distribution of n independent uses of d. It takes no more time than one use.
// The error bounds relative to δ increase with n: about 1e-10 for 10^4 mechanisms, and 1e-5 for
// 10^9. The error is a *units.RangeError unless n and the resulting number of mechanisms are
// between 1 and 2^32.
func (d *Distribution) Power(n int) (*Distribution, error) {
	total := 0
	for _, f := range d.side(0) {
		total += f.count
	}
	if n < 1 || n > maxCount || n > maxCount/total {
		return nil, &units.RangeError{Parameter: "count", Value: float64(n), Range: "at least 1, and at most 2^32 " +
			"mechanisms in total"}
	}
	c := &Distribution{options: d.options}
	for _, factors := range d.sides {
		power := slices.Clone(factors)
		for i := range power {
			power[i].count *= n
		}
		c.sides = append(c.sides, power)
	}
	return c, nil
}

// compose returns the curves, which are computed only once.
func (d *Distribution) compose() ([]curve, error) {
	d.once.Do(func() {
		for _, factors := range d.sides {
			c, err := composeFactors(factors, d.options)
			if err != nil {
				d.curves, d.err = nil, fmt.Errorf("composing privacy loss distributions: %w", err)
				return
			}
			d.curves = append(d.curves, c)
		}
	})
	return d.curves, d.err
}

// DeltaAt returns an upper bound on δ at ε ≥ 0 in both directions; ε may be +Inf. The error is a
// *units.RangeError or, if the composition does not fit into any grid that Options permit, a
// *SizeError. If there is an error, δ is 1, which promises nothing.
func (d *Distribution) DeltaAt(epsilon float64) (float64, error) {
	if !(epsilon >= 0) {
		return 1, &units.RangeError{Parameter: "epsilon", Value: epsilon, Range: "at least 0"}
	}
	curves, err := d.compose()
	if err != nil {
		return 1, err
	}
	delta := 0.0
	for _, c := range curves {
		delta = max(delta, c.deltaAt(epsilon))
	}
	return delta, nil
}

// EpsilonAt returns an upper bound on the least ε ≥ 0 whose δ is at most delta in both directions,
// for 0 < delta < 1. For that ε, DeltaAt returns at most delta. If delta is below the probability
// of an unbounded loss in the pairs themselves, ε is +Inf without an error. The error is a
// *units.RangeError, a *SizeError or a *FloorError. If there is an error, ε is +Inf, which promises
// nothing.
func (d *Distribution) EpsilonAt(delta float64) (float64, error) {
	if !(delta > 0 && delta < 1) {
		return math.Inf(1), &units.RangeError{Parameter: "delta", Value: delta, Range: "above 0 and below 1"}
	}
	curves, err := d.compose()
	if err != nil {
		return math.Inf(1), err
	}
	epsilon, floor, inherent := 0.0, 0.0, 0.0
	for _, c := range curves {
		epsilon = max(epsilon, c.epsilonAt(delta))
		floor, inherent = max(floor, c.floor), max(inherent, c.inherent)
	}
	if math.IsInf(epsilon, 1) && delta >= inherent {
		return epsilon, &FloorError{Delta: delta, Floor: floor}
	}
	return epsilon, nil
}
