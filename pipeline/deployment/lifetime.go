package deployment

import (
	"math/big"

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

// Lifetimes returns a Lifetime for each of Deployment.Metrics. Coverage is admitted
// together with the metric that it covers, and lasts as long.
func Lifetimes(d *Deployment) []Lifetime {
	out := make([]Lifetime, 0, len(d.Metrics))
	for i := range d.Config.Metrics {
		m := &d.Config.Metrics[i]
		top := len(out)
		l := Lifetime{Windows: affordable(d, m, worstOf(d, m, top), &d.Metrics[top]), UpTo: m.Ladder.Sigma > 0 && len(d.Config.Metrics) > 1}
		out = append(out, l)
		if m.Coverage != nil {
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
		windows := worstOf(d, m, at)
		sum.Add(sum, windows.Mul(windows, big.NewInt(int64(m.LastAtLeast))))
		at++
		if m.Coverage != nil {
			at++
		}
	}
	return sum.Cmp(accountUnits(d.Budget.Mu2)) <= 0
}

// worstOf returns the most that a window of the metric, with its coverage, can cost a
// user, in account units. at is the index of the metric in d.Metrics.
func worstOf(d *Deployment, m *Metric, at int) *big.Int {
	coverage := new(big.Int)
	if m.Coverage != nil {
		coverage = charge(big.NewInt(1), d.Metrics[at+1].Spec.Top)
	}
	return m.worst(d.Metrics[at].Spec.Top, coverage)
}

// affordable returns how many windows that cost worst an account pays for, in B² and in
// δ, and no more than were asked for.
func affordable(d *Deployment, m *Metric, worst *big.Int, compiled *CompiledMetric) uint64 {
	windows := new(big.Int).Div(accountUnits(d.Budget.Mu2), worst)
	if m.Keys.Mode == KeysPrivate {
		perWindow := new(big.Int).Mul(compiled.Spec.DeltaKey.Big(), big.NewInt(int64(m.MaxKeysPerUser)))
		windows = least(windows, perWindow.Div(d.Budget.Keys.Big(), perWindow))
	}
	if m.LastAtLeast > 0 {
		windows = least(windows, big.NewInt(int64(m.LastAtLeast)))
	}
	return windows.Uint64()
}

func accountUnits(m units.Mu2) *big.Int { return new(big.Int).SetUint64(uint64(m)) }

func least(a, b *big.Int) *big.Int {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}
