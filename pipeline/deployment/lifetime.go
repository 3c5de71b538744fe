package deployment

import (
	"math/big"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Lifetime says how long a user's budget lasts for one metric.
type Lifetime struct {
	// Windows is how many windows every user can take part in, however much they
	// contribute within the bounds: what last_at_least asks for, or fewer where an
	// explicit ladder.sigma makes a window cost more than that leaves. 0: a user who
	// uses the bounds to the full can take part in no window.
	Windows uint64
	// UpTo says that this holds only while the other metrics leave the budget to
	// this one: no part of the account is kept for an explicit ladder.sigma.
	UpTo bool
}

// Lifetimes returns a Lifetime for each of Deployment.Metrics. What is kept of every account for a
// share of counted events pays for last_at_least windows.
func Lifetimes(d *Deployment) []Lifetime {
	out := make([]Lifetime, 0, len(d.Metrics))
	for i := range d.Config.Metrics {
		m := &d.Config.Metrics[i]
		top := len(out)
		l := Lifetime{Windows: windowsAlone(d.Budget, &d.Metrics[top].Spec, m.further(), m.scale(), besideOf(d, m, top), keptOf(d)), UpTo: m.Ladder.Sigma > 0 && len(d.Config.Metrics) > 1}
		if m.LastAtLeast > 0 {
			l.Windows = min(l.Windows, uint64(m.LastAtLeast))
		}
		out = append(out, l)
		if m.Counted != nil {
			out = append(out, Lifetime{Windows: uint64(m.LastAtLeast)})
		}
		for range m.statistics(d.Metrics[top].Spec) {
			out = append(out, l)
		}
	}
	return out
}

// LastAtLeastFits says whether one account pays for the last_at_least windows of
// every metric together. They can fail to fit only where every metric has an
// explicit ladder.sigma: Compile has refused any other such configuration.
func LastAtLeastFits(d *Deployment) bool {
	sum, at := new(big.Int), 0
	for i := range d.Config.Metrics {
		m := &d.Config.Metrics[i]
		windows := m.worst(d.Metrics[at].Spec.Top, besideOf(d, m, at))
		sum.Add(sum, windows.Mul(windows, big.NewInt(int64(m.LastAtLeast))))
		at += 1 + len(besideMetric(m, d.Metrics[at].Spec, allotment{}))
	}
	sum.Add(sum, keptOf(d))
	return sum.Cmp(accountUnits(d.Budget.Mu2)) <= 0
}

// besideOf returns the most that the share of counted events of a metric takes in a window, in
// account units. at is the index of the metric in d.Metrics.
func besideOf(d *Deployment, m *Metric, at int) *big.Int {
	if m.Counted == nil {
		return new(big.Int)
	}
	return worstOfShare(&d.Metrics[at+1].Spec)
}

// keptOf returns the part of every account that shares of counted events keep, in account units.
func keptOf(d *Deployment) *big.Int {
	kept := new(big.Int)
	for i := range d.Metrics {
		kept.Add(kept, KeptFor(&d.Metrics[i].Spec))
	}
	return kept
}

// KeptFor returns the part of every account that is kept for a metric, in account units: 0 for all
// but shares of counted events.
func KeptFor(m *schemas.MetricSpec) *big.Int {
	if !metrickind.Of(m.Kind).Share {
		return new(big.Int)
	}
	worst := worstOfShare(m)
	return worst.Mul(worst, big.NewInt(m.Max))
}

// worstOfShare returns what one window costs a user at most. The user's two contributions add up to
// the bound at most, and each of the two charges is rounded up.
func worstOfShare(m *schemas.MetricSpec) *big.Int {
	worst := charge(squareOf(int64(m.MaxEventsPerKey)), m.Top)
	return worst.Add(worst, big.NewInt(1))
}

func accountUnits(m units.Mu2) *big.Int { return new(big.Int).SetUint64(uint64(m)) }

func least(a, b *big.Int) *big.Int {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}
