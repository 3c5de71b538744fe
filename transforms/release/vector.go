package release

import (
	"fmt"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// extraOf returns, by metric, the metrics of its additional components that are sums, in order.
func extraOf(metrics []schemas.MetricSpec) [][]int {
	extra := make([][]int, len(metrics))
	for i := range metrics {
		for j := range metrics {
			kind := metrickind.Of(metrics[j].Kind)
			if metrics[j].Of == metrics[i].Name && kind.Part != nil && !kind.HasNodes() {
				extra[i] = append(extra[i], j)
			}
		}
	}
	return extra
}

func (l *ladders) drawAllExtra(passed []task, counts []cellCount) ([]schemas.SettledKey, error) {
	return settleEach(passed, func(metric uint32) bool { return len(l.extra[metric]) > 0 },
		func(t *task) ([]schemas.SettledKey, error) { return l.drawExtra(t, counts) })
}

// drawExtra draws the additional components of a count and computes the value from all
// components. It returns the precisions of the additional components. These precisions follow from
// the precision of the first component, which is public: the components are successive Gaussian
// releases (docs/guarantee.md, "Several components").
func (l *ladders) drawExtra(t *task, counts []cellCount) (settled []schemas.SettledKey, err error) {
	spec := &l.metrics[t.Metric]
	t.components = append(t.components, metrickind.Component{Value: new(big.Rat).SetFrac(big.NewInt(t.result.Value),
		big.NewInt(1<<10)), Variance: variance(t.result.Precision)})
	for _, metric := range l.extra[t.Metric] {
		cell := t.cellID
		cell.Metric = uint32(metric)
		u, err := ExtraPrecision(spec, &l.metrics[metric], t.result.Precision)
		if err != nil {
			return nil, err
		}
		estimate, err := l.draw(cell, u, countOf(counts, cell))
		if err != nil {
			return nil, err
		}
		component := metrickind.Component{Value: estimate, Variance: variance(u)}
		if metrickind.Of(l.metrics[metric].Kind).Part.Again {
			t.components[0] = component
		} else {
			t.components = append(t.components, component)
		}
		settled = append(settled, settledKey(cell, u))
	}
	if vector := metrickind.Of(spec.Kind).Vector; vector != nil {
		value := vector.Join(spec.Bounds(), l.components(t, len(vector.Extra), vector.Ratios))
		t.combined = &value
	}
	return settled, nil
}

// components returns the first component of a count and the given number of drawn additional ones.
// With their HalfWidth, the intervals of the given number of ratios hold together.
func (l *ladders) components(t *task, extra, ratios int) metrickind.Components {
	c := metrickind.Components{Of: t.components[:1+extra], HalfWidth: l.widths[t.Metric][ratios-1]}
	for _, component := range c.Of[1:] {
		c.Beyond = c.Beyond || maybeClamped(component, c.HalfWidth)
	}
	return c
}

// draw draws an additional component of a count. u is its precision.
func (l *ladders) draw(c cellID, u units.Precision, count int64) (*big.Rat, error) {
	var sampler noisereduction.Sampler
	y, exponent, err := sampler.Draw(l.noise, l.identity(c), 1, units.Precision{}, u, count)
	if err != nil {
		return nil, err
	}
	return new(big.Rat).SetFrac(y, new(big.Int).Lsh(big.NewInt(1), exponent)), nil
}

// ExtraPrecision returns the precision of an additional component. It is the same fraction of the
// component's top precision as u is of the first component's top precision, rounded down.
func ExtraPrecision(first, extra *schemas.MetricSpec, u units.Precision) (units.Precision, error) {
	scaled := new(big.Int).Mul(u.Big(), extra.Top.Big())
	p, err := units.PrecisionFromBig(scaled.Quo(scaled, first.Top.Big()))
	switch {
	case err != nil:
		return p, fmt.Errorf("computing the precision of %s: %w", extra.Name, err)
	case p.IsZero(), p.Cmp(extra.Top) > 0: // pipeline/deployment refuses both
		return p, noisereduction.ErrPrecision
	}
	return p, nil
}

// maybeClamped reports whether the exact sum may have been clamped (partialGroup.Counts), because
// the estimate's interval reaches ±MaxCount. It uses only the drawn estimate, not the sum.
func maybeClamped(c metrickind.Component, width *big.Rat) bool {
	room := new(big.Rat).SetInt64(noisereduction.MaxCount)
	room.Sub(room, new(big.Rat).Abs(c.Value))
	reach := new(big.Rat).Mul(width, width)
	return room.Sign() <= 0 || new(big.Rat).Mul(room, room).Cmp(reach.Mul(reach, c.Variance)) <= 0
}

// variance returns the variance 1/u of noise with precision u.
func variance(u units.Precision) *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).Lsh(big.NewInt(1), units.FinestBits), u.Big())
}

// meets reports whether the released value meets the target, whichever number in the interval is
// the true value. It is enough to check the ends of the interval. A relative target is relative to
// the true value, not to the released value.
func meets(m *schemas.MetricSpec, e *metrickind.Estimate) bool {
	value := math.Ldexp(float64(e.Value), -10)
	tolerance := func(truth float64) float64 { return max(m.Absolute, float64(m.Relative*math.Abs(truth))) }
	return m.HasTarget() && e.High-value <= tolerance(e.High) && value-e.Low <= tolerance(e.Low)
}
