package forecast

import (
	"cmp"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/release"
)

// amount is what events add to a count: to its first component and, where the kind has two, to its
// second one. Without bounds it is what there is to count: the second is then the sum of values.
type amount struct{ first, second float64 }

func (c *amount) add(b amount, times float64) {
	c.first += b.first * times
	c.second += b.second * times
}

// pair is what a model needs of a kind whose counts have two components.
type pair struct {
	*metrickind.Pair
	first, second *schemas.MetricSpec
	width         float64 // of Components
	spread        spread
}

// spread is the range in which nine of ten values of events lie.
type spread struct{ Low, High float64 }

// scale returns what an error of a value is compared with: the value's own size, but no more than
// the range, and no less than a quarter of it where 0 is inside. Elsewhere a hundredth of the range
// stands for values next to 0.
func (s spread) scale(value float64) float64 {
	size := s.High - s.Low
	if size == 0 {
		size = max(1, math.Abs(s.High))
	}
	least := size / 100
	if s.Low < 0 && s.High > 0 {
		least = size / 4
	}
	return max(least, min(size, math.Abs(value)))
}

// price returns what a contribution costs at precisions of its two components, in account units;
// fits is false where no account can pay for it.
func (c amount) price(first, second units.Precision) (sum units.Mu2, fits bool) {
	sum, fits = units.Charge(uint64(math.Abs(c.first)), first)
	if !fits || second.IsZero() {
		return sum, fits
	}
	other, ok := units.Charge(uint64(math.Abs(c.second)), second)
	sum, fits = sum.Add(other)
	return sum, fits && ok
}

// real returns the value without bounds and noise; there is none of a pair without events.
func (m *model) real(of amount) (value float64, is bool) {
	if m.pair == nil {
		return of.first, true
	}
	if of.first == 0 {
		return 0, false
	}
	return m.pair.Truth(of.first, of.second), true
}

// yardstick returns what an error of a value of so much is compared with.
func (m *model) yardstick(of amount) float64 {
	if m.pair == nil {
		return math.Abs(of.first)
	}
	value, _ := m.real(of)
	return m.pair.spread.scale(value)
}

// whole is what a user's events of a key add up to without bounds.
func (m *model) whole(cells []sample.Cell) (of amount) {
	if !m.kind.Values {
		_, n := m.kind.Contribution(events(cells), unbounded)
		return amount{first: float64(n)}
	}
	sum := 0.0
	for _, c := range cells {
		sum += float64(c.Events) * float64(c.Value)
	}
	if m.pair != nil {
		return amount{float64(events(cells)), sum}
	}
	return amount{first: sum}
}

// drawn is what might be released of a count.
type drawn struct {
	noisereduction.Outcome
	second units.Precision // of the second component; 0 where none was drawn
	value  float64
	exact  float64 // the value without noise
}

// draw imitates a release.
func (p *path) draw(counted amount) drawn {
	out := drawn{Outcome: p.metric.Plan.Imitate(math.Round(counted.first), p.normal), exact: counted.first}
	out.value = counted.first + out.Error
	if p.pair == nil {
		return out
	}
	out.exact = p.pair.Imitate(p.bounds, metrickind.Drawn{First: counted.first, Second: counted.second}).Value
	if !out.Passed {
		return out
	}
	p.pair.join(&out, counted, p.bounds, p.normal)
	return out
}

// join draws the second component, with the precision that the product gives it, and makes the
// value of both.
func (p *pair) join(out *drawn, counted amount, b metrickind.Bounds, normal func() float64) {
	var err error
	if out.second, err = release.SecondPrecision(p.first, p.second, out.Precision); err != nil {
		return // pipeline/deployment excludes it
	}
	variance := 1 / out.second.Float()
	e := p.Imitate(b, metrickind.Drawn{
		First: out.value, Second: math.Round(counted.second) + math.Sqrt(variance)*normal(),
		FirstVariance: 1 / out.Precision.Float(), SecondVariance: variance, Width: p.width,
	})
	within := func(mean float64) float64 { return max(p.first.Absolute, p.first.Relative*math.Abs(mean)) }
	out.value, out.Half = e.Value, (e.High-e.Low)/2
	out.Met = p.first.HasTarget() && e.High-e.Value <= within(e.High) && e.Value-e.Low <= within(e.Low)
}

// spreadOf returns the spread of events, which it sorts.
func spreadOf(of []sample.Cell) (s spread) {
	slices.SortFunc(of, func(a, b sample.Cell) int { return cmp.Compare(a.Value, b.Value) })
	all, sum := 0.0, 0.0
	for _, c := range of {
		all += float64(c.Events)
	}
	for i, c := range of {
		below := sum
		sum += float64(c.Events)
		if i == 0 || below < 0.05*all {
			s.Low = float64(c.Value)
		}
		if s.High = float64(c.Value); sum >= 0.95*all {
			break
		}
	}
	return s
}
