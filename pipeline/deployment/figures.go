package deployment

import (
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/release"
)

// Figures say how exact the counts of one metric are, and how long a budget lasts for it: what
// two configurations can be compared by. They follow from the budget and the metric's definition
// alone, so that those of a generation on the control log are known, too.
type Figures struct {
	Metric     string
	Sigma      float64 // least standard deviation of a release, in the unit of the count
	Within     float64 // least error at Confidence that a release can have: ± so much
	Confidence float64
	// MeetableFrom is the least count that can meet the target: 0 for all, +Inf for none, NaN
	// without a target. Threshold is what the first noisy count of a private key must exceed;
	// -Inf where keys are not private.
	MeetableFrom, Threshold float64
	// Windows is how many windows a whole budget pays for at most, for a user who uses the bounds
	// to the full and contributes to no other metric: last_at_least, where the metric is the only
	// one and has no ladder.sigma. 0 for a share of counted events, which lasts as long as its
	// metric.
	Windows uint64
}

// FiguresOf returns the Figures of every metric. Errors are those of release.PlanOf.
func FiguresOf(b budgets.Budget, metrics []schemas.MetricSpec) ([]Figures, error) {
	var all []Figures
	for i := range metrics {
		m := &metrics[i]
		if kind := metrickind.Of(m.Kind); kind.Component || kind.Statistic != nil {
			continue // a part of its metric's value, or computed from it
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
		if !metrickind.Of(m.Kind).Derived {
			beside, kept := new(big.Int), new(big.Int)
			for j := range metrics {
				kept.Add(kept, KeptFor(&metrics[j]))
				if metrickind.Of(metrics[j].Kind).Share && metrics[j].Of == m.Name {
					beside.Add(beside, worstOfShare(&metrics[j]))
				}
			}
			sums, scale := componentsOf(metrics, m)
			f.Windows = windowsAlone(b, m, sums, scale, beside, kept)
		}
		all = append(all, f)
	}
	return all, nil
}

// windowsAlone divides a whole budget, in B² and in δ, by what a window costs a user. sums and
// scale are as for worstOfKey. beside is the part of that which goes to the metric's share of
// counted events, and kept is what all shares keep of the budget, in account units.
func windowsAlone(b budgets.Budget, m *schemas.MetricSpec, sums []metrickind.Kind, scale *metrickind.Scale, beside, kept *big.Int) uint64 {
	worst := worstOfKey(metrickind.Of(m.Kind), m.Bounds(), sums, scale, m.Top)
	worst.Mul(worst, big.NewInt(int64(m.MaxKeysPerUser))).Add(worst, beside)
	have := accountUnits(b.Mu2)
	if have.Sub(have, kept); have.Sign() < 0 {
		return 0
	}
	windows := worst.Div(have, worst)
	if !m.DeltaKey.IsZero() {
		perWindow := new(big.Int).Mul(m.DeltaKey.Big(), big.NewInt(int64(m.MaxKeysPerUser)))
		windows = least(windows, perWindow.Div(b.Keys.Big(), perWindow))
	}
	return windows.Uint64()
}

// componentsOf returns the further components of a metric's counts: those that are sums, and the
// scale of its trees; nil if it has none.
func componentsOf(metrics []schemas.MetricSpec, m *schemas.MetricSpec) (sums []metrickind.Kind, scale *metrickind.Scale) {
	for i := range metrics {
		kind := metrickind.Of(metrics[i].Kind)
		switch {
		case metrics[i].Of != m.Name:
		case kind.Nodes != nil:
			scale, _ = metrics[i].Scale() // without an error: it was compiled
		case kind.Component:
			sums = append(sums, kind)
		}
	}
	return sums, scale
}
