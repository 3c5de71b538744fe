package forecast

import (
	"math"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Beside has the expected errors of a statistic that is released beside the values of a metric.
// They are defined as in Means, over the same cells.
type Beside struct {
	Of                   string // the kind of its value
	Typical, Noise, Left float64
}

// statistic is what a model needs to forecast such a statistic.
type statistic struct {
	metrickind.Kind
	spread spread // of kinds that have several components
}

// statisticsOf returns what stands beside the values of the first metric of a deployment.
func statisticsOf(d *deployment.Deployment) (all []statistic) {
	for i := range d.Metrics {
		s := &d.Metrics[i].Spec
		if of := metrickind.Of(s.Kind).ValueOf; of != "" && s.Of == d.Metrics[0].Spec.Name {
			all = append(all, statistic{Kind: metrickind.Of(of)})
		}
	}
	return all
}

// powered reports whether amounts are sums of the powers of values: if the values, or a statistic
// beside them, have several components.
func (m *model) powered() bool {
	for _, b := range m.statistics {
		if b.Vector != nil {
			return true
		}
	}
	return m.vector != nil
}

// error adds the error of the statistic in one of the cells that hold half of the events.
func (b *statistic) error(to *parts, out *drawn, bounds metrickind.Bounds, truth, counted amount) {
	if b.Vector == nil {
		to.add(out.Passed, out.first, counted[0], truth[0], math.Abs(truth[0]))
		return
	}
	real := b.Vector.Truth(truth.sums())
	exact := real // if nothing is counted, there is no mean
	if counted[0] != 0 {
		exact = b.Vector.Imitate(bounds, metrickind.Drawn{Values: counted.sums()}).Value
	}
	to.add(out.Passed, b.Vector.Imitate(bounds, out.drawn).Value, exact, real, b.spread.scale(real))
}

// parts are the errors of the cells that hold half of the events, in units of a scale, and the
// parts that noise and events that are not counted have in them.
type parts struct{ errors, noise, left []float64 }

// add adds a cell; a value that does not come out is wrong by all of the scale.
func (p *parts) add(passed bool, value, exact, real, scale float64) {
	if !passed {
		p.errors, p.left = append(p.errors, 1), append(p.left, 1)
		return
	}
	p.errors = append(p.errors, math.Abs(value-real)/scale)
	p.noise = append(p.noise, math.Abs(value-exact)/scale)
	p.left = append(p.left, math.Abs(real-exact)/scale)
}
