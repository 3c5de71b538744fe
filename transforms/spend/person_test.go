package spend

import (
	"fmt"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// traffic is what users with even habits bring and what counts of it, in windows of a day.
type traffic struct {
	*Person
	days         int
	had, counted [3]float64 // by third of the horizon
}

func newTraffic(t *testing.T, days int, burst, sigma float64) *traffic {
	t.Helper()
	b, err := budgets.NewBudget(1, 1e-6, budgets.GDP, 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	a := accounts.NewAllowance(b.Mu2, burst, int64(days))
	m := schemas.MetricSpec{Name: "m", Kind: "events", KeyMode: schemas.KeysPrivate, Burst: a.Burst, Refill: a.Refill, Horizon: a.Horizon}
	if m.Top, err = units.PrecisionFromSigma(sigma); err != nil {
		t.Fatal(err)
	}
	p, err := NewPerson(b, []schemas.MetricSpec{m}, m.Name)
	if err != nil {
		t.Fatal(err)
	}
	return &traffic{Person: p, days: days}
}

// user comes on days from first on, with so many events a day in so many keys. weight users do.
func (r *traffic) user(t *testing.T, id, first, days, events, keys int, weight float64) {
	t.Helper()
	names, entries := make([][]byte, keys), make([]schemas.KeyCount, keys)
	for k := range names {
		names[k], entries[k] = fmt.Append(nil, "key ", id, k), schemas.KeyCount{Key: uint32(k), N: uint32(events / keys)}
	}
	r.Begin(testID(id), names)
	for day := max(first, 0); day < min(first+days, r.days); day++ {
		parts, err := r.Window(int64(day+1), entries, nil)
		if err != nil {
			t.Fatal(err)
		}
		third := 3 * day / r.days
		r.had[third] += weight * float64(events)
		for _, c := range parts {
			r.counted[third] += weight * float64(c.Total)
		}
	}
}

// TestConstantTrafficCountsEvenly: over 90 days, as many events a day come from short-lived users,
// who stay one day, as from daily ones with one event a day, and the rest from heavy ones with 50
// in 10 keys; both of these stay 30 days, and all arrive evenly in time. As the period begins,
// every user's account is full: what that adds to the first days grows with the burst
// and with what heavy users bring.
func TestConstantTrafficCountsEvenly(t *testing.T) {
	for _, c := range []struct{ burst, heavy, sigma, within float64 }{
		{0.5, 0.3, 150, 0.03}, {0.25, 0.3, 250, 0.03}, {0.25, 0.5, 200, 0.03}, {0.1, 0.5, 300, 0.03},
		{0.5, 0.5, 300, 0.09}, // the burst of a file that does not say, and few heavy users bring half
	} {
		r := newTraffic(t, 90, c.burst, c.sigma)
		for day := -29; day < 90; day++ {
			r.user(t, day+30, day, 1, 4, 2, (1-c.heavy)/2/4)
			r.user(t, day+30, day, 30, 1, 1, (1-c.heavy)/2/30)
			r.user(t, day+30, day, 30, 50, 10, c.heavy/50/30)
		}
		var share [3]float64
		for i := range share {
			share[i] = r.counted[i] / r.had[i]
		}
		t.Logf("burst %v, %v of the events of heavy users, noise %v: %.3f of the events count, by third", c.burst, c.heavy, c.sigma, share)
		if share[0]-share[2] > c.within || share[2] > share[0] || min(share[0], share[2]) < 0.6 || max(share[0], share[2]) > 0.95 {
			t.Errorf("want at most %v of a difference, and 0.6 to 0.95", c.within)
		}
	}
}

// TestDailyUsersCountToTheEnd: one event a day for 20 days, in a promise that lasts as long.
func TestDailyUsersCountToTheEnd(t *testing.T) {
	r := newTraffic(t, 20, 0.5, 100/1.96)
	for id := range 4000 {
		r.user(t, id, 0, 20, 1, 1, 1)
	}
	t.Logf("%v of %v events count, by third", r.counted, r.had)
	if r.counted != r.had {
		t.Error("some do not count")
	}
}
