package deployment

import (
	"math"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/release"
)

// Figures describe the accuracy of one metric's counts and the share of typical users' events that
// is counted. They serve to compare two configurations. They follow from the budget and the
// metrics' definitions alone, so they are also available for a generation on the control log.
type Figures struct {
	Metric       string
	Sigma        float64 // least standard deviation of a release, in the unit of the count
	Within       float64 // error of a release with the least noise, ± at Confidence
	Confidence   float64
	MeetableFrom float64 // least count that can meet the target: 0 if all can, +Inf if none can, NaN without a target
	Threshold    float64 // limit that the first noisy count of a private key must exceed; -Inf for other keys
	Users        Users   // nil for a share of counted events
}

// FiguresOf returns the Figures of every metric that is not a component or statistic of another
// metric. It returns the errors of release.PlanOf and SimulateUsers.
func FiguresOf(b budgets.Budget, metrics []schemas.MetricSpec) ([]Figures, error) {
	var all []Figures
	for i := range metrics {
		m := &metrics[i]
		if kind := metrickind.Of(m.Kind); kind.Part != nil || kind.Statistic != nil {
			continue // a component of another metric's value, or computed from one
		}
		plan, err := release.PlanOf(m)
		if err != nil {
			return nil, err
		}
		f := Figures{
			Metric: m.Name, Sigma: 1 / math.Sqrt(m.Top.Float()), Within: plan.Within(), Confidence: m.Confidence,
			MeetableFrom: plan.MeetableFrom(), Threshold: plan.Threshold(),
		}
		if m.Relative == 0 && m.Absolute == 0 {
			f.MeetableFrom = math.NaN()
		}
		if f.Users, err = SimulateUsers(b, metrics, m.Name); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}
