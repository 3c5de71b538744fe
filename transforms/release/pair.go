package release

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// secondOf returns, by metric, the metric of its second components; −1 where it has none.
func secondOf(metrics []schemas.MetricSpec) []int {
	second := make([]int, len(metrics))
	for i := range metrics {
		second[i] = slices.IndexFunc(metrics, func(m schemas.MetricSpec) bool {
			return m.Of == metrics[i].Name && metrickind.Of(m.Kind).Component
		})
	}
	return second
}

// join draws the second components of the released counts that have two, and returns what they
// cost, in the order of the counts.
func (l *ladders) join(passed []task, counts []spend.Count) ([]schemas.SettledKey, error) {
	var pairs []*task
	for i := range passed {
		if l.second[passed[i].Metric] >= 0 {
			pairs = append(pairs, &passed[i])
		}
	}
	settled := make([]schemas.SettledKey, len(pairs))
	return settled, inChunks(len(pairs), func(i int) (err error) {
		if settled[i], err = l.joinOne(pairs[i], counts); err != nil {
			return fmt.Errorf("releasing turn %d: %w", pairs[i].turn, err)
		}
		return nil
	})
}

// joinOne draws the second component of a count and computes the value from both. The precision of
// the second follows from that of the first, which is public: the two are successive Gaussian
// releases (docs/guarantee.md, "Two components").
func (l *ladders) joinOne(t *task, counts []spend.Count) (schemas.SettledKey, error) {
	at, spec := l.second[t.Metric], &l.metrics[t.Metric]
	cell := t.Cell
	cell.Metric = uint32(at)
	u, err := SecondPrecision(spec, &l.metrics[at], t.result.Precision)
	if err != nil {
		return schemas.SettledKey{}, err
	}
	estimate, err := l.drawSecond(t, at, u, countOf(counts, cell))
	if err != nil {
		return schemas.SettledKey{}, err
	}
	width, second := l.plans[t.Metric].Width(), variance(u)
	joined := metrickind.Of(spec.Kind).Pair.Join(spec.Bounds(), metrickind.Components{
		First:         new(big.Rat).SetFrac(big.NewInt(t.result.Value), big.NewInt(1<<10)),
		Second:        estimate,
		FirstVariance: variance(t.result.Precision), SecondVariance: second,
		Width: width, Beyond: beyond(estimate, second, width),
	})
	t.joined = &joined
	return settledKey(cell, u), nil
}

// drawSecond draws the second component of a count, of metric at, with precision u.
func (l *ladders) drawSecond(t *task, at int, u units.Precision, count int64) (*big.Rat, error) {
	var sampler noisereduction.Sampler
	y, exponent, err := sampler.Draw(l.noise, noisereduction.Identity{
		Incarnation: l.incarnation, MetricDigest: l.digests[at], WindowStart: t.Start, WindowEnd: t.End, Key: []byte(t.Key),
	}, 1, units.Precision{}, u, count)
	if err != nil {
		return nil, err
	}
	return new(big.Rat).SetFrac(y, new(big.Int).Lsh(big.NewInt(1), exponent)), nil
}

// SecondPrecision returns the precision of a second component: the same part of its top as the
// first component has reached of its own, rounded down, and never above the top.
func SecondPrecision(first, second *schemas.MetricSpec, u units.Precision) (units.Precision, error) {
	at := new(big.Int).Mul(u.Big(), second.Top.Big())
	p, err := units.PrecisionFromBig(at.Quo(at, first.Top.Big()))
	switch {
	case err != nil:
		return p, fmt.Errorf("computing the precision of %s: %w", second.Name, err)
	case p.IsZero(), p.Cmp(second.Top) > 0: // pipeline/deployment excludes both
		return p, noisereduction.ErrPrecision
	}
	return p, nil
}

// beyond reports whether the estimated sum may have been clamped to what can be released
// (spend.Partials.Counts): MaxCount is within the estimate's interval, or below it. It uses only
// the drawn estimate, not the sum.
func beyond(estimate, variance, width *big.Rat) bool {
	room := new(big.Rat).SetInt64(noisereduction.MaxCount)
	room.Sub(room, new(big.Rat).Abs(estimate))
	half := new(big.Rat).Mul(width, width)
	return room.Sign() <= 0 || new(big.Rat).Mul(room, room).Cmp(half.Mul(half, variance)) <= 0
}

// variance returns 1/u.
func variance(u units.Precision) *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).Lsh(big.NewInt(1), units.FinestBits), u.Big())
}

// meets reports whether the value is within the target of every mean in the interval. The ends are
// the strictest: a relative target is relative to the mean, not to the value.
func meets(m *schemas.MetricSpec, e *metrickind.Estimate) bool {
	value := math.Ldexp(float64(e.Value), -10)
	within := func(mean float64) float64 { return max(m.Absolute, float64(m.Relative*math.Abs(mean))) }
	return m.HasTarget() && e.High-value <= within(e.High) && value-e.Low <= within(e.Low)
}
