package deployment

import (
	"math"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// PeriodsPromise is the promise over several budget periods together, to a user who is active in
// all of them.
type PeriodsPromise struct{ Epsilon, Delta float64 }

// OverPeriods returns the promise over n ≥ 1 periods of a deployment that has periods; ok is false
// if no promise is worth stating.
//
// If every window lies within one period, the budgets add up to n·B² and n·δ_keys. A window that
// overlaps w periods contains the contributions c_p of a user in all w periods: (Σ c_p)² is up to
// w·Σ c_p², but the periods paid only Σ c_p². In such a window, a key that only this user has may
// reach a count of w·C, but the threshold allows only for C. The choice of bounds uses a user's
// events of one period only, so the user pays for the choice once. See docs/guarantee.md, sections
// 1 and 10.
func OverPeriods(d *Deployment, n int) (p PeriodsPromise, ok bool) {
	budget, planned := d.Budget, d.Budget.Planned
	keys := budget.Keys.Float()*float64(n)*keyDeltaRatio(d, n) + planned.Keys.Float()
	delta := (budget.Delta - budget.Whole().Keys.Float()) * float64(n)
	if !(delta+keys < 1) {
		return p, false
	}
	together := float64(n) * float64(min(n, PeriodsInAWindow(d)))
	// The last factor covers the rounding error of this line, which is far below 1e-14.
	mu := math.Hypot(budget.Mu2.Mu()*math.Sqrt(together), planned.Mu2.Mu()) * (1 + 1e-14)
	c, err := budgets.ConvertDeltaMu(delta, mu, budget.Accountant)
	if err != nil {
		return p, false // ε is too large to be worth stating
	}
	return PeriodsPromise{Epsilon: c.Epsilon, Delta: delta + keys}, true
}

// PeriodsInAWindow returns the most periods that any metric's window overlaps; 1 without periods.
func PeriodsInAWindow(d *Deployment) int {
	periods := 1
	for i := range d.Metrics {
		periods = max(periods, periodsInAWindowOf(d, &d.Metrics[i].Spec))
	}
	return periods
}

// periodsInAWindowOf returns the maximum number of periods that a window of the metric overlaps.
// Windows begin at multiples of their slide, and periods at multiples of their length. The start of
// a window within a period is therefore a multiple of the greatest common divisor of slide and
// length. The latest such start is one divisor before the end of the period.
func periodsInAWindowOf(d *Deployment, m *schemas.MetricSpec) int {
	period := d.Config.Privacy.Period.Milliseconds()
	if period == 0 {
		return 1
	}
	return int((period-gcd(period, m.WindowSlide)+m.WindowSize-1)/period) + 1
}

// keyDeltaRatio returns, over n periods, the probability that a key of only one user is released,
// divided by the δ paid for the key. It returns the maximum over all metrics, and at least 1, which
// is the ratio if no window overlaps two periods.
func keyDeltaRatio(d *Deployment, n int) float64 {
	worst := 1.0
	for i := range d.Metrics {
		m := &d.Metrics[i]
		kind := metrickind.Of(m.Spec.Kind)
		if m.Spec.KeyMode != KeysPrivate || kind.OncePerUser {
			continue // a user counts only once, even in several periods
		}
		// The standard deviation of the drawn noise exceeds the one computed from the precision by
		// a factor of less than 1 + 2^-30. The rounding error of this formula is far below 1e-9.
		sigma := (1 + 0x1p-29) / math.Sqrt(m.Spec.First.Float())
		for parts := 2; parts <= min(n, periodsInAWindowOf(d, &m.Spec)); parts++ {
			// Among the sums between from and to, the sum to is the likeliest to pass the
			// threshold, and the sum from, divided into equal parts, is the cheapest.
			most := float64(parts) * float64(m.Spec.Most())
			for to := float64(parts - 1); to < most; {
				from := to + 1
				to = min(math.Floor(from*1.02), most)
				gap := m.Plan.Threshold() - to
				pass := 1.0
				if gap > 0 {
					pass = (1 + 1e-9) * math.Erfc(gap/sigma/math.Sqrt2) / 2
				}
				worst = max(worst, pass/(from*from/float64(parts)*m.Spec.DeltaKey.Float()))
			}
		}
	}
	return worst
}
