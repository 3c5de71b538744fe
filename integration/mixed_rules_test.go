package integration

import (
	"maps"
	"math"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// lasting gives the only metric one rung, for which a budget pays exactly so many times at a
// contribution of 1.
func lasting(t *testing.T, times float64) settings {
	t.Helper()
	return func(c *pipeline.Config) {
		c.Metrics[0].Target = atTop(1000)
		d := must.Have(pipeline.Compile(*c))
		sigma := math.Sqrt((times + 0.5) / math.Ldexp(float64(d.Budget.Mu2), -40))
		c.Metrics[0].Target = atTop(sigma)
	}
}

func periodOf(length time.Duration) settings {
	return func(c *pipeline.Config) { c.Privacy.Period, c.Privacy.Lasts = length, 0 }
}

// tally returns the tally of the first metric.
func (d *deployment) tally() pipeline.MetricTallies {
	d.t.Helper()
	report := must.Have(pipeline.TrustedReport(d.t.Context(), d.compiled))
	return report.Metrics[0]
}

// A window charges each event to the period of the event's own time.
func TestRuleAWindowOverABoundaryIsChargedToBothPeriods(t *testing.T) {
	m := oneRung(1, 1)
	m.Window, m.Slide = 30*time.Second, 30*time.Second
	d := newDeployment(t, startBroker(t), "mixed-both", 1, only(m), periodOf(45*time.Second), lasting(t, 2),
		sharded(1, 1),
		// so that a snapshot has the charges of the second turn and is audited
		func(c *pipeline.Config) { c.LedgerSlots = 4 })
	d.load([][]arrival{{
		visit("u", "p00", 31*time.Second), visit("u", "p00", 32*time.Second), // period 0: one counts
		visit("u", "p00", 46*time.Second), // period 1, the same window
		visit("u", "p00", 100*time.Second),
	}})
	d.run(func(o *runOptions) { o.Until = base.Add(240 * time.Second) })
	d.verify()
	if got := d.tally(); got.Counted != 3 || got.Beyond != 1 {
		t.Errorf("tallies are %+v, want one event of each period and the last one", got)
	}
	price := reference.Charge(1, d.referenceConfig().Metrics[0].Top)
	_, accounts := d.decisions()
	first := base.UnixMilli() / 45_000
	for period, windows := range map[int64]int64{first: 1, first + 1: 1, first + 2: 1} {
		account := accounts[d.owner("u", period)]
		if want := price * windows; account.Spent != want {
			t.Errorf("in period %d the user paid %v, want %v", period, account.Spent, want)
		}
	}
}

// The distinguishing attack on a budget period: all events of one user in one period are removed.
// With ladders of one rung, published values do not feed back, so everything about all other users,
// and about that user's other periods, must be equal.
func TestRuleRemovingAPeriodOfAUserChangesNoOtherUser(t *testing.T) {
	broker := startBroker(t)
	attacked := func(c *pipeline.Config) {
		mixed(c)
		balance, day, pages := sumOf("balance", 40*time.Second), countOf("day", 120*time.Second),
			privately(countOf("pages", 20*time.Second))
		balance.Slide, pages.Slide = 20*time.Second, 10*time.Second
		c.Metrics = []pipeline.Metric{countOf("visits", 10*time.Second), usersOf("people", 30*time.Second), balance,
			day, pages}
		for i, sigma := range []float64{1, 0.8, 15, 1.2, 1.5} { // so little that users exhaust their budgets
			m := &c.Metrics[i]
			m.Ladder = pipeline.Ladder{Kind: string(noisereduction.Geometric), Factor: 2}
			m.Target = atTop(sigma)
		}
	}
	arrivals := shoppersAtPeace(71).arrivals()
	for i := range 400 { // the attacked user is everywhere
		stamp := base.UnixMilli() + int64(i)*300
		arrivals = append(arrivals, bought("u0000", "p00", stamp, stamp, int64(i%17), "book"))
	}
	sortByStamp(arrivals)
	gone := base.UnixMilli()/45_000 + 1
	var without []arrival
	for _, a := range arrivals {
		if a.user != "u0000" || a.stamp/45_000 != gone {
			without = append(without, a)
		}
	}
	with := newDeployment(t, broker, "mixed-with", 2, attacked)
	with.load(scatter(arrivals, 2, 1))
	with.run()
	rest := newDeployment(t, broker, "mixed-without", 2, attacked)
	rest.load(scatter(without, 2, 2))
	rest.run()
	with.verify()
	rest.verify()
	report := must.Have(pipeline.TrustedReport(t.Context(), rest.compiled))
	if m := report.Metrics[0]; m.Beyond < 50 || m.Counted < 50 {
		t.Errorf("%d events were beyond the allowance and %d counted: the case is too tame", m.Beyond, m.Counted)
	}
	admitted, accounts := with.decisions()
	owner := with.owner("u0000", gone)
	if len(admitted[owner]) == 0 || accounts[owner].Spent == 0 {
		t.Fatal("the attacked individual was never there")
	}
	delete(admitted, owner)
	delete(accounts, owner)
	others, theirs := rest.decisions()
	if !maps.EqualFunc(admitted, others, maps.Equal[map[uint64]string, map[uint64]string]) {
		t.Error("removing one individual changed another user's admission")
	}
	if !maps.EqualFunc(accounts, theirs, func(a, b reference.Account) bool { return a.Spent == b.Spent }) {
		t.Error("removing one individual changed another user's account")
	}
}
