package pld

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/tollgate-dp/tollgate/state/units"
)

// Options sets how finely a distribution is computed. Zero fields mean their defaults.
type Options struct {
	// Interval is the distance between two losses of the grid, in nats, rounded down to a power of
	// two. 0 means 2^-13 (1.2e-4). It means less, within 2^19 points, for a pair whose loss has a
	// standard deviation below 64 such steps or a bounded range below 4096 of them. A composition
	// takes the finest interval of its parts. If that would need more than MaxPoints points, parts
	// whose Interval is 0 get intervals four times as large, repeatedly up to MaxInterval: the
	// bound holds on every grid and is looser on a coarser one.
	Interval float64
	// MinDelta is the smallest δ that will be asked for, between 1e-280 and 0.1; 0 means 1e-20. The
	// work grows with the square root of its logarithm. A composition takes the smallest MinDelta
	// of its parts.
	MinDelta float64
	// MaxPoints bounds the number of points in a grid, from 16 to MaxSize; 0 means 2^22, which
	// takes about 200 MB while composing. A composition takes the greatest MaxPoints of its parts.
	MaxPoints int
	// Delta is the only δ that will be asked for, between 0 and 1; 0 means any δ. The grid is then
	// only as fine as ε needs for a relative error of about 1.5e-5, and is transformed once; bounds
	// at other δ hold but are looser. A composition whose parts differ in Delta takes 0.
	Delta float64
}

const (
	defaultInterval  = 0x1p-13
	defaultMinDelta  = 1e-20
	defaultMaxPoints = 1 << 22
	defaultRange     = 1 << 19 // most points at the default interval
	stepsPerSpread   = 64
	stepsPerRange    = 4096  // for a bounded loss: at a small δ, ε is near the greatest loss
	tailShare        = 1e-12 // part of MinDelta that a single pair may lose at the top
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

// factor is a measure composed count times.
type factor struct {
	*measure
	count int
}

// Distribution is the privacy loss distribution of one mechanism or of a composition of mechanisms.
// It is immutable and may be used by several goroutines. The first query computes the composition;
// later ones reuse it.
type Distribution struct {
	options Options
	sides   [][]factor // by Direction; a single one if all pairs are symmetric

	once   sync.Once
	curves []curve
	err    error
}

// side returns the factors for a direction.
func (d *Distribution) side(direction int) []factor { return d.sides[min(direction, len(d.sides)-1)] }

// New returns the distribution of a single mechanism with the given dominating
// pair. The error is a *units.RangeError or a *SizeError.
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
			// The Gaussian is discretised during composition, merged with all other Gaussians.
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

// maxCount bounds the number of mechanisms in a composition.
const maxCount = 1 << 32

// Compose returns the distribution of d and all others together. The order does not matter. The
// error is a *units.RangeError if there are more than 2^32 mechanisms in all.
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

// Power returns the distribution of n independent uses of d, in the time of one. The error bounds
// relative to δ grow with n: about 1e-10 at 10^4 mechanisms, and 1e-5 at 10^9. The error is a
// *units.RangeError unless n and the number of mechanisms in the result are between 1 and 2^32.
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

// compose returns the curves, computing them only once.
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

// DeltaAt returns an upper bound on the δ at ε ≥ 0, the greater of the two directions; ε may be
// +Inf. The error is a *units.RangeError or, if no grid that Options allow holds the composition, a
// *SizeError; δ is then 1, which promises nothing.
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

// EpsilonAt returns an upper bound on the least ε ≥ 0 whose δ is at most delta, in both directions,
// for 0 < delta < 1; DeltaAt at that ε returns at most delta. If delta is below the probability of
// an unbounded loss in the pairs themselves, ε is +Inf without an error. The error is a
// *units.RangeError, a *SizeError or a *FloorError; ε is then +Inf, which promises nothing.
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
