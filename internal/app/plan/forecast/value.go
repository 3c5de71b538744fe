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

// amount is what events add to each component of a count that is a sum. Without bounds it is what
// there is to count, and of kinds with several components the powers of their values. The last two
// are for trees, see tree.
type amount [metrickind.MaxComponents + 2]float64

// sums are the components that are sums, or the powers.
func (c *amount) sums() [metrickind.MaxComponents]float64 {
	return [metrickind.MaxComponents]float64(c[:metrickind.MaxComponents])
}

// precisions are those of components; 0 where none was drawn.
type precisions [metrickind.MaxComponents]units.Precision

func (c *amount) add(b amount, times float64) {
	for i := range c {
		c[i] += b[i] * times
	}
}

// powers are so many events of a value: their number, and the sums of the powers of their values.
func powers(events, value float64) (c amount) {
	for i := range metrickind.MaxComponents {
		c[i] = events
		events *= value
	}
	return c
}

// vector is what a model needs of a kind whose counts have several components.
type vector struct {
	*metrickind.Vector
	first  *schemas.MetricSpec
	width  float64 // of Components
	spread spread
}

// spread is the range in which nine of ten values of events lie.
type spread struct{ Low, High float64 }

// of returns the range of a kind's value if the values of events lie in this range.
func (s spread) of(k metrickind.Kind) spread {
	s.Low, s.High = k.Vector.Span(s.Low, s.High)
	return s
}

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

// price returns what a contribution costs at precisions of its components, in account units; fits
// is false where no account can pay for it.
func (c amount) price(at precisions) (sum units.Mu2, fits bool) {
	for i, u := range at {
		if u.IsZero() {
			break
		}
		charge, ok := units.Charge(uint64(math.Abs(c[i])), u)
		if sum, fits = sum.Add(charge); !ok || !fits {
			return sum, false
		}
	}
	return sum, true
}

// real returns the value without bounds and noise; there is none of a mean without events.
func (m *model) real(of amount) (value float64, is bool) {
	if m.vector == nil {
		return of[0], true
	}
	if of[0] == 0 {
		return 0, false
	}
	return m.vector.Truth(of.sums()), true
}

// yardstick returns what an error of a value of so much is compared with.
func (m *model) yardstick(of amount) float64 {
	if m.vector == nil {
		return math.Abs(of[0])
	}
	value, _ := m.real(of)
	return m.vector.spread.scale(value)
}

// whole is what a user's events of a key add up to without bounds.
func (m *model) whole(cells []sample.Cell) (of amount) {
	if !m.kind.Values {
		_, n := m.kind.Contribution(events(cells), unbounded)
		return amount{float64(n)}
	}
	for _, c := range cells {
		of.add(powers(float64(c.Events), float64(c.Value)), 1)
	}
	if m.kind.Sums() {
		return amount{of[1]}
	}
	if !m.powered() {
		return amount{of[0]}
	}
	return of
}

// drawn is what might be released of a count.
type drawn struct {
	noisereduction.Outcome
	paid  precisions
	value float64
	exact float64          // the value without noise
	first float64          // the first component, as its ladder has released it
	drawn metrickind.Drawn // the components from which values are computed; of none that passed, zero
}

// draw imitates a release.
func (p *path) draw(counted amount) drawn {
	out := drawn{Outcome: p.metric.Plan.Imitate(math.Round(counted[0]), p.normal), exact: counted[0]}
	out.first, out.paid[0] = counted[0]+out.Error, out.Precision
	out.value = out.first
	if out.Passed {
		p.further(&out, counted)
	}
	if p.vector == nil {
		return out
	}
	out.exact = p.vector.Imitate(p.bounds, metrickind.Drawn{Values: counted.sums()}).Value
	if out.Passed {
		p.vector.join(&out, p.bounds)
	}
	return out
}

// further draws the further components that are sums, with the precisions that the product gives
// them.
func (p *path) further(out *drawn, counted amount) {
	at, d := 1, &out.drawn
	d.Values[0], d.Variances[0] = out.first, 1/out.Precision.Float()
	for i := range p.sums {
		u, _ := release.FurtherPrecision(&p.metric.Spec, &p.sums[i], out.Precision) // pipeline/deployment excludes errors
		out.paid[1+i] = u
		variance := 1 / u.Float()
		value := math.Round(counted[1+i]) + math.Sqrt(variance)*p.normal()
		if p.again[i] {
			d.Values[0], d.Variances[0] = value, variance
			continue
		}
		d.Values[at], d.Variances[at] = value, variance
		at++
	}
}

// join makes the value of all components.
func (v *vector) join(out *drawn, b metrickind.Bounds) {
	out.drawn.Width = v.width
	e := v.Imitate(b, out.drawn)
	within := func(truth float64) float64 { return max(v.first.Absolute, v.first.Relative*math.Abs(truth)) }
	out.value, out.Half = e.Value, (e.High-e.Low)/2
	out.Met = v.first.HasTarget() && e.High-e.Value <= within(e.High) && e.Value-e.Low <= within(e.Low)
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
