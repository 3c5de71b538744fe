package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Count is what is to be expected of a count of a size, by the law of its noise.
type Count struct {
	Count float64 `json:"count"`
	// Typical is how far the value is from the count, by the count: a median over noise alone, in
	// which one that does not come out counts as 1. Nil for a mean.
	Typical *float64 `json:"typical_noise,omitempty"`
	Shown   float64  `json:"shown"` // probability that it comes out: 1 for public keys
	Error   float64  `json:"error"` // half of the interval that is printed with it: a mean, where it comes out
	Met     float64  `json:"met"`   // probability that it meets the target, where it comes out
}

// Need is what a count needs to meet the target, each alone; 0 where that does not do.
type Need struct {
	Count   float64 `json:"count"`
	Epsilon float64 `json:"epsilon,omitempty"`
	Windows int     `json:"last_at_least,omitempty"`
}

// sizes returns the counts that are told of. Those of a sum grow with the decade of its greatest
// value: the noise does.
func sizes(m *schemas.MetricSpec) []float64 {
	value := 1.0
	if !metrickind.Of(m.Kind).Sums() {
		m = &schemas.MetricSpec{} // its sizes are numbers of events
	}
	for most := float64(max(m.Max, -m.Min)); 10*value <= most; {
		value *= 10
	}
	return []float64{10 * value, 100 * value, 1000 * value, 10_000 * value, 100_000 * value, 1_000_000 * value}
}

// AddCounts adds what is to be expected of counts by their size, and what small ones need. It takes
// up to a second.
func (p *Plan) AddCounts(d *deployment.Deployment) {
	for i := range d.Metrics {
		if metrickind.Of(d.Metrics[i].Spec.Kind).Statistic != nil {
			continue // computed from another one, which says how many events it needs
		}
		p.Metrics[i].Expected, p.Metrics[i].Needs = countsOf(&d.Metrics[i]), needsOf(d, i, &d.Metrics[i])
	}
}

// countsOf imitates releases: 2,000 of each size, with the same noise in every run. Probabilities
// are right to 0.03, and means to 3 %, at 99 %.
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

// needsOf says what the sizes that cannot meet a metric's target would need: another budget, or one
// that lasts for fewer windows.
func needsOf(d *deployment.Deployment, at int, m *deployment.CompiledMetric) (out []Need) {
	own := indexOf(d, m.Spec.Name)
	if own < 0 || !m.Spec.HasTarget() || math.IsInf(m.Plan.MeetableFrom(), 1) {
		return nil
	}
	meets := func(size float64, change func(*deployment.Config)) bool {
		cfg := d.Config
		cfg.Metrics = append([]deployment.Metric{}, cfg.Metrics...)
		change(&cfg)
		other, err := deployment.Compile(cfg)
		return err == nil && other.Metrics[at].Plan.MeetableFrom() <= size && shows(&other.Metrics[at], size)
	}
	for _, size := range sizes(&m.Spec)[1:4] {
		if m.Plan.MeetableFrom() <= size && shows(m, size) {
			break // and all that are larger
		}
		n := Need{Count: size}
		at := func(step int) float64 { return twoDigits(d.Config.Privacy.Epsilon * math.Pow(1.25, float64(step))) }
		const most = 24 // 200 times as much
		if step := 1 + sort.Search(most, func(i int) bool {
			return meets(size, func(c *deployment.Config) { c.Privacy.Epsilon = at(1 + i) })
		}); step <= most && deployment.Recommended(at(step), d.Config.Privacy.Delta) {
			n.Epsilon = at(step)
		}
		for last := d.Config.Metrics[own].LastAtLeast / 2; last >= 1 && d.Config.Metrics[own].Ladder.Sigma == 0; last /= 2 {
			if meets(size, func(c *deployment.Config) { c.Metrics[own].LastAtLeast = last }) {
				n.Windows = last
				break
			}
		}
		if out = append(out, n); len(out) == 2 {
			break
		}
	}
	return out
}

// shows says whether a count comes out more often than not.
func shows(m *deployment.CompiledMetric, size float64) bool { return size >= m.Plan.Threshold() }

// indexOf returns which metric of the configuration has a name; −1 for a derived one.
func indexOf(d *deployment.Deployment, name string) int {
	for i := range d.Config.Metrics {
		if d.Config.Metrics[i].Name == name {
			return i
		}
	}
	return -1
}

// twoDigits rounds up to two digits.
func twoDigits(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(math.Ceil(v/unit-1e-9)*unit, 'g', 2, 64), 64)
	return rounded
}
