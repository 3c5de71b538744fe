package plan

import (
	"math"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Plan holds the consequences of a configuration. tollgate validate prints it as JSON.
type Plan struct {
	Deployment string  `json:"deployment"`
	Epsilon    float64 `json:"epsilon"`
	Delta      float64 `json:"delta"`
	Accountant string  `json:"accountant"`
	Mu         float64 `json:"mu"`         // √B²: the privacy loss that an account may spend
	DeltaKeys  float64 `json:"delta_keys"` // the part of delta that private keys may spend
	// Planned is the part of the promise that was spent on choosing bounds. Mu and DeltaKeys do not
	// include it.
	Planned float64  `json:"planned,omitempty"`
	Trust   string   `json:"trust"`
	Zone    string   `json:"window_zone,omitempty"` // time zone of windows and periods; absent: UTC
	Period  string   `json:"period,omitempty"`
	Periods []Period `json:"periods,omitempty"`
	Metrics []Metric `json:"metrics"`
	Notes   []string `json:"notes,omitempty"` // sentences that a reader of the counts must know
	Limits  []string `json:"not_protected"`
}

// Period is the promise to a user over several periods together.
type Period struct {
	Periods int     `json:"periods"`
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// Metric holds the consequences for one metric.
type Metric struct {
	Name       string  `json:"name"`
	Kind       string  `json:"kind"`
	Window     string  `json:"window"`
	Slide      string  `json:"slide,omitempty"`
	Keys       string  `json:"keys"`
	KeysFrom   string  `json:"keys_from,omitempty"`
	PublicKeys int     `json:"public_keys,omitempty"`
	FirstSigma float64 `json:"first_sigma"` // standard deviation of a count's first release, in the metric's unit
	TopSigma   float64 `json:"top_sigma"`   // least standard deviation of a release
	// Threshold is the number that the first noisy count of a private key must exceed; nil if keys
	// are not private.
	Threshold *float64 `json:"threshold"`

	Relative   float64 `json:"relative"`
	Absolute   float64 `json:"absolute"`
	Confidence float64 `json:"confidence"`
	// MeetableFrom is the least count that can meet the target; nil if no count can.
	MeetableFrom *float64 `json:"meetable_from"`

	Users    deployment.Users `json:"users,omitempty"`    // counted share of users with even habits; set by AddCounts
	Expected []Count          `json:"expected,omitempty"` // forecasts by size of the count; set by AddCounts
}

// New returns the plan of a deployment without contacting a broker.
func New(d *deployment.Deployment) *Plan {
	cfg, budget := d.Config, d.Budget
	p := &Plan{
		Deployment: cfg.Deployment, Epsilon: budget.Epsilon, Delta: budget.Delta, Accountant: string(budget.Accountant),
		Mu: budget.Mu2.Mu(), DeltaKeys: budget.Keys.Float(), Planned: budget.Planned.Share, Trust: cfg.Time.Trust,
		Zone: cfg.Time.WindowZone,
	}
	if cfg.Privacy.Period > 0 {
		p.Period = timespan.Text(cfg.Privacy.Period)
		p.Periods = overPeriods(d)
	}
	for i, m := range d.Metrics {
		p.Metrics = append(p.Metrics, planMetric(&m))
		// A statistic meets its target whenever its base metric meets its own target.
		if metrickind.Of(m.Spec.Kind).Statistic != nil && m.Spec.HasTarget() {
			base := slices.IndexFunc(p.Metrics, func(o Metric) bool { return o.Name == m.Spec.Of })
			p.Metrics[i].MeetableFrom = p.Metrics[base].MeetableFrom
		}
	}
	p.Notes, p.Limits = notes(d), limits(&cfg)
	return p
}

// overPeriods returns the promises to a user who is active in 1, 2, 12 and 52 periods.
func overPeriods(d *deployment.Deployment) []Period {
	var out []Period
	for _, n := range []int{1, 2, 12, 52} {
		p, ok := deployment.OverPeriods(d, n)
		if !ok {
			break
		}
		out = append(out, Period{Periods: n, Epsilon: p.Epsilon, Delta: p.Delta})
	}
	return out
}

func planMetric(m *deployment.CompiledMetric) Metric {
	s := &m.Spec
	size, slide := time.Duration(s.WindowSize)*time.Millisecond, time.Duration(s.WindowSlide)*time.Millisecond
	out := Metric{
		Name: s.Name, Kind: s.Kind, Window: timespan.Text(size), Keys: s.KeyMode, PublicKeys: len(s.PublicKeys),
		FirstSigma: deviation(s.First), TopSigma: deviation(s.Top),
		Relative: s.Relative, Absolute: s.Absolute, Confidence: s.Confidence,
		Threshold: finite(m.Plan.Threshold()), MeetableFrom: finite(math.Ceil(m.Plan.MeetableFrom())),
	}
	out.KeysFrom = s.KeysFrom
	if slide != size {
		out.Slide = timespan.Text(slide)
	}
	return out
}

func deviation(p units.Precision) float64 { return 1 / math.Sqrt(p.Float()) }

// finite returns a pointer to v, or nil if v is infinite or not a number.
func finite(v float64) *float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}

// HasPrivate reports whether any metric has private keys.
func (p *Plan) HasPrivate() bool {
	return slices.ContainsFunc(p.Metrics, func(m Metric) bool { return m.Keys == deployment.KeysPrivate })
}
