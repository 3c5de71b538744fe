package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Count is the forecast for a count of a given size, computed from the noise distribution.
type Count struct {
	Count float64 `json:"count"`
	// Typical is the median relative noise, where an unpublished value counts as 1. It is nil for a
	// kind with a Vector.
	Typical *float64 `json:"typical_noise,omitempty"`
	Shown   float64  `json:"shown"` // probability that the count is published; 1 for public keys
	Error   float64  `json:"error"` // mean half-width of the interval of a published count
	Met     float64  `json:"met"`   // probability that a published count meets the target
}

// sizes returns the sizes of the counts to forecast. For a sum, they are multiples of the power of
// ten of the greatest value, because the noise grows with that value.
func sizes(m *schemas.MetricSpec) []float64 {
	value := 1.0
	if !metrickind.Of(m.Kind).Sums() {
		m = &schemas.MetricSpec{} // the sizes are numbers of events
	}
	for greatest := float64(max(m.Max, -m.Min)); 10*value <= greatest; {
		value *= 10
	}
	return []float64{10 * value, 100 * value, 1000 * value, 10_000 * value, 100_000 * value, 1_000_000 * value}
}

// AddCounts adds forecasts of counts by size and of the counted share of users. It takes up to a
// second.
func (p *Plan) AddCounts(d *deployment.Deployment) (err error) {
	for i := range d.Metrics {
		kind := metrickind.Of(d.Metrics[i].Spec.Kind)
		if kind.Statistic != nil {
			continue // the base metric shows the number of events that a statistic needs
		}
		p.Metrics[i].Expected = countsOf(&d.Metrics[i])
		if p.Metrics[i].Users, err = deployment.SimulateUsers(d.Budget, d.Specs(), d.Metrics[i].Spec.Name); err != nil {
			return err
		}
	}
	return nil
}

// countsOf simulates 2,000 releases of each size. Every call draws the same noise. At 99%
// confidence, probabilities are accurate to 0.03 and means to 3%.
func countsOf(m *deployment.CompiledMetric) (out []Count) {
	const draws = 2000
	vector := metrickind.Of(m.Spec.Kind).Vector
	for _, size := range sizes(&m.Spec) {
		random := rand.New(rand.NewPCG(uint64(size), 1))
		c, errors := Count{Count: size}, make([]float64, draws)
		for i := range errors {
			o := m.Plan.Imitate(size, random.NormFloat64)
			if errors[i] = 1; !o.Passed {
				continue
			}
			errors[i] = math.Abs(o.Error) / size
			c.Shown++
			if vector != nil {
				o.Half = vector.Half(m.Spec.Bounds(), size, o.Half, m.Spec.Confidence)
			}
			c.Error += o.Half
			if o.Met {
				c.Met++
			}
		}
		if c.Shown > 0 {
			c.Error /= c.Shown
			c.Met /= c.Shown
		}
		if slices.Sort(errors); vector == nil {
			typical := threeDigits(errors[draws/2])
			c.Typical = &typical
		}
		c.Shown /= draws
		c.Error = threeDigits(c.Error)
		out = append(out, c)
	}
	return out
}

func threeDigits(v float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return rounded
}
