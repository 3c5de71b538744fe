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
// extends over w periods contains the contributions c_p of a user in all of them: (Σ c_p)² is up to
// w·Σ c_p², but the periods paid only Σ c_p². A key of this user alone may reach a count of w·C
// there, but the threshold allows only for C. A choice of bounds counts a user in only one of the
// periods, so the user pays for it once. docs/guarantee.md, sections 1 and 10.
func OverPeriods(d *Deployment, n int) (p PeriodsPromise, ok bool) {
	left, planned := d.Budget, d.Budget.Planned
	keys := left.Keys.Float()*float64(n)*keysAcross(d, n) + planned.Keys.Float()
	rest := (left.Delta - left.Whole().Keys.Float()) * float64(n)
	if !(rest+keys < 1) {
		return p, false
	}
	together := float64(n) * float64(min(n, PeriodsInAWindow(d)))
	// The last factor covers the rounding error of this line, which is far below 1e-14.
	mu := math.Hypot(left.Mu2.Mu()*math.Sqrt(together), planned.Mu2.Mu()) * (1 + 1e-14)
	c, err := budgets.ConvertDeltaMu(rest, mu, left.Accountant)
	if err != nil {
		return p, false // ε is too large to be worth stating
	}
	return PeriodsPromise{Epsilon: c.Epsilon, Delta: rest + keys}, true
}

// PeriodsInAWindow returns the greatest number of periods over which a window of any metric
// extends; 1 without periods.
func PeriodsInAWindow(d *Deployment) int {
	most := 1
	for i := range d.Metrics {
		most = max(most, periodsInAWindowOf(d, &d.Metrics[i].Spec))
	}
	return most
}

// periodsInAWindowOf returns the greatest number of periods over which a window of the metric
// extends. Windows begin at multiples of their slide, and periods at multiples of their length.
// Within a period, a window therefore begins at a multiple of the greatest common divisor of the
// two: at the latest, one such divisor before the period's end.
func periodsInAWindowOf(d *Deployment, m *schemas.MetricSpec) int {
	period := d.Config.Privacy.Period.Milliseconds()
	if period == 0 {
		return 1
	}
	return int((period-gcd(period, m.WindowSlide)+m.WindowSize-1)/period) + 1
}

// keysAcross returns the factor by which, over n periods, the probability that a key of only one
// user is released exceeds the δ paid for it; 1 if no window extends over two periods.
func keysAcross(d *Deployment, n int) float64 {
	worst := 1.0
	for i := range d.Metrics {
		m := &d.Metrics[i]
		kind := metrickind.Of(m.Spec.Kind)
		if m.Spec.KeyMode != KeysPrivate || kind.OncePerUser {
			continue // a user counts only once, even in several periods
		}
		// The drawn deviation exceeds the deviation at the precision by a factor of less than
		// 1 + 2^-30, and the rounding error of this formula is far below 1e-9.
		sigma := (1 + 0x1p-29) / math.Sqrt(m.Spec.First.Float())
		for parts := 2; parts <= min(n, periodsInAWindowOf(d, &m.Spec)); parts++ {
			// Of the sums between from and to, to is the likeliest to pass the threshold, and from,
			// in equal parts, is the cheapest.
			most := float64(parts) * float64(m.Spec.Most())
			for to := float64(parts - 1); to < most; {
				from := to + 1
				to = min(math.Floor(from*1.02), most)
				over := m.Plan.Threshold() - to
				pass := 1.0
				if over > 0 {
					pass = (1 + 1e-9) * math.Erfc(over/sigma/math.Sqrt2) / 2
				}
				worst = max(worst, pass/(from*from/float64(parts)*m.Spec.DeltaKey.Float()))
			}
		}
	}
	return worst
}
