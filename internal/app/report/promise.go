package report

import (
	"math"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// promise describes the promise of a deployment. It contains public configuration and numbers that
// are computed from it.
type promise struct {
	epsilon, delta, deltaKeys float64
	mu                        float64 // Gaussian parameter of the whole budget
	accountant                string
	period                    time.Duration // budget period; 0: a single period that never ends
	trust                     string
	zone                      string // time zone of windows; "": UTC
	valueField, valueUnit     string // field and unit of values
	unnamed                   bool   // whether events without a user count
	noiseKeys                 []string
	metrics                   []metricFacts
}

// metricFacts holds the facts about a metric that do not follow from its releases.
type metricFacts struct {
	schemas.MetricSpec
	known        bool    // the metric is in the configuration
	keyed        bool    // the metric's events have keys
	threshold    float64 // count from which a private key is released; 0 for other keys
	meetableFrom float64 // least count that can meet the target; +Inf: no count can
	sigmaTop     float64
	subject      string               // field of values that a demo's titles show instead of the metric; else ""
	parts        []schemas.MetricSpec // statistics shown together, beginning with this one; nil if shown alone
}

func promiseOf(d *deployment.Deployment) promise {
	cfg, budget := d.Config, d.Budget
	p := promise{
		epsilon: budget.Epsilon, delta: budget.Delta, deltaKeys: cfg.Privacy.DeltaKeys, mu: budget.Mu2.Mu(),
		accountant: string(budget.Accountant), period: cfg.Privacy.Period,
		trust: cfg.Time.Trust, zone: cfg.Time.WindowZone, valueField: cfg.Events.Format.Value,
		valueUnit: cfg.Events.Format.ValueUnit(), unnamed: cfg.Events.Format.NoUser == event.NoUserEach,
	}
	p.noiseKeys = []string{cfg.Keys.Noise.ID}
	for _, m := range d.Metrics {
		kind := metrickind.Of(m.Spec.Kind)
		f := metricFacts{
			MetricSpec: m.Spec, known: true, keyed: cfg.Events.Format.Key != "" && kind.Keyed(),
			meetableFrom: m.Plan.MeetableFrom(), sigmaTop: 1 / math.Sqrt(m.Spec.Top.Float()),
		}
		if kind.Statistic != nil { // meets its target whenever the number of events meets its own
			parent := slices.IndexFunc(p.metrics, func(parent metricFacts) bool { return parent.Name == m.Spec.Of })
			f.meetableFrom = p.metrics[parent].meetableFrom
		}
		if m.Spec.KeyMode == deployment.KeysPrivate {
			f.threshold = m.Plan.Threshold()
		}
		p.metrics = append(p.metrics, f)
	}
	return p
}
