package reference

import (
	"fmt"
	"math/big"
	"testing"
)

// An event counts once in every window that holds it, and is paid for each time.
func TestRuleASlidingWindowIsPaidEachTime(t *testing.T) {
	m := kind(testMetric("m", "public", 30), "events")
	m.WindowSlide = 10
	c := testConfig(m)
	c.path = everythingAt(1)
	out := mustRun(t, c, onePartition(seen("u", "a", 5), seen("u", "a", 25), seen("u", "zz", 25)), 4)
	for turn, want := range []int64{0, 0, 2, 1} { // [0, 30) and [10, 40); the windows before began before the start
		if got := countsOf(out, uint64(turn)+1, 0)["a"]; got != want {
			t.Errorf("turn %d: the count is %d, want %d", turn+1, got, want)
		}
	}
	wantSpent(t, c, out, map[string]int64{"u0": 4 + 1}, nil)
	// The event at 5 lies in [0, 30) alone; those at 25 in three windows, of which [20, 50) is
	// open.
	wantTallies(t, out, MetricTallies{Counted: 3, Filtered: 2, Open: 2})
	if out.Tallies.Windows[0] != 1+3+3 {
		t.Errorf("%d pairs of records and windows, want 7", out.Tallies.Windows[0])
	}
}

func TestSlidingAndFixedWindowsEndTogether(t *testing.T) {
	small, day := kind(testMetric("small", "public", 10), "events"), kind(testMetric("day", "public", 40), "events")
	slide := kind(testMetric("slide", "public", 20), "events")
	slide.WindowSlide = 10
	c := testConfig(small, day, slide)
	c.Start = 20
	c.path = everythingAt(1)
	var visits []visit
	for millis := int64(0); millis < 80; millis += 5 { // two in every 10 ms
		visits = append(visits, seen(fmt.Sprint("u", millis), "a", millis))
	}
	out := mustRun(t, c, onePartition(visits...), 6) // the turns end at 30, 40, … 80
	for turn, want := range [][3]int64{{2, 0, 0}, {2, 0, 4}, {2, 0, 4}, {2, 0, 4}, {2, 0, 4}, {2, 8, 4}} {
		for metric := range want {
			if got := countsOf(out, uint64(turn)+1, metric)["a"]; got != want[metric] {
				t.Errorf("turn %d, metric %d: the count is %d, want %d", turn+1, metric, got, want[metric])
			}
		}
	}
	// Four records came before the start. [0, 40) of the day began before it, too: its records are
	// in no window of the day.
	wantTallies(t, out, MetricTallies{Counted: 12}, MetricTallies{Counted: 8}, MetricTallies{Counted: 20, Open: 2})
}

// Coverage is one public key, released in every window; every user admitted to the metric is in it
// and pays for it.
func TestRuleCoverageIsAReleasedCountInsideTheReservation(t *testing.T) {
	m := kind(testMetric("m", "public", 100), "events")
	c := testConfig(m, coverage(m))
	c.path = everythingAt(1)
	for _, k := range []struct{ budget, covered int64 }{
		{11, 3}, // 9 for three events, 1 for another key, 1 for coverage
		{10, 2}, // the metric alone would fit
		{2, 1},
		{1, 0}, // one event would fit, one event and coverage do not
	} {
		c.Budget.Mu2 = big.NewInt(k.budget)
		out := mustRun(t, c, onePartition(
			seen("u", "a", 1), seen("u", "a", 2), seen("u", "a", 3), seen("u", "b", 4),
			seen("v", "a", 5), seen("v", "b", 6), seen("w", "c", 7),
			seen("x", "zz", 8), // has no kept key: is no part of anything
			seen("w", "c", 150),
		), 1)
		wantCounts(t, out, 1, 1, map[string]int64{"": k.covered})
		if k.covered == 3 {
			wantSpent(t, c, out, map[string]int64{"u0": 11, "v0": 3, "w0": 2}, nil)
		}
		if k.covered == 0 && len(out.Accounts) != 0 {
			t.Error("a user who was not admitted paid")
		}
		if out.Tallies.Metrics[1] != (MetricTallies{}) {
			t.Errorf("coverage has tallies of its own: %+v", out.Tallies.Metrics[1])
		}
	}
	out := mustRun(t, c, Log{}, 2)
	if got := len(out.Published); got != 2*(3+1) {
		t.Errorf("%d values were published over two empty windows, want three keys and coverage of each", got)
	}
}

// A budget of exactly the worst case, with every kind of metric in a turn.
func TestTheWorstCaseOfEveryKindByHand(t *testing.T) {
	events := kind(testMetric("events", "public", 100), "events")
	events.Top = costing(2)
	users := kind(testMetric("users", "private", 100), "distinct_users")
	users.First, users.Top = costing(1), costing(3)
	total := sum(from(testMetric("total", "public", 100), "users"), -4, 4)
	total.Top = costing(5)
	cover := coverage(total)
	cover.Top = costing(7)
	c := testConfig(events, users, total, cover)
	visits := onePartition(visit{user: "u", page: "a", millis: 1, amount: -9}, visit{user: "u", page: "a", millis: 2, amount: 1})
	worst := int64(2*2*2 + 3 + 3*3*5 + 7) // two events, one user, a total of −4 + 1
	for _, k := range []struct {
		budget int64
		want   [3]bool
	}{{worst, [3]bool{true, true, true}}, {worst - 1, [3]bool{true, true, false}}, {8 + 2, [3]bool{true, false, false}}, {7, [3]bool{false, true, false}}} {
		c.Budget.Mu2 = big.NewInt(k.budget)
		c.path = script(map[string]outcome{"a": {1, true}, "": {1, true}})
		out := mustRun(t, c, visits, 1)
		for i, d := range out.Admitted[c.owner("u", 0)] {
			if d.Metric != i || d.Admitted != k.want[i] {
				t.Errorf("budget %d: admission to metric %d is %v, want %v", k.budget, d.Metric, d.Admitted, k.want[i])
			}
		}
		if k.budget == worst {
			wantSpent(t, c, out, map[string]int64{"u0": 4 + 1 + 9 + 1}, map[string]int64{"u0": 1})
		}
	}
}

// Noise is drawn for negative totals as for others: the value may lie on either side of zero.
func TestNegativeTotalsAreReleased(t *testing.T) {
	m := sum(testMetric("m", "public", 100), -1000, 1000)
	m.First, m.Top, m.Absolute = costing(1<<24), costing(1<<36), 10 // σ down to 4
	c := testConfig(m)
	c.Budget.Mu2.Lsh(c.Budget.Mu2, 10)
	out := mustRun(t, c, onePartition(visit{user: "u", page: "a", millis: 1, amount: -700}, visit{user: "v", page: "b", millis: 1, amount: 700}), 1)
	for _, p := range out.Published {
		want := map[string]float64{"a": -700, "b": 700}[p.Release.Key]
		if p.Count != int64(want) || p.Release.High < want-60 || p.Release.Low > want+60 {
			t.Errorf("key %s of %v is released as %v to %v", p.Release.Key, p.Count, p.Release.Low, p.Release.High)
		}
	}
}

// What is left out is counted, too: of users whose budget is spent, and beyond the bounds. All
// other metrics leave a share what is kept for it, and what it costs is charged to the same
// account.
func TestRuleAShareCountsWhatItsMetricLeavesOut(t *testing.T) {
	m := testMetric("m", "public", 10)
	m.PublicKeys, m.MaxKeysPerUser, m.MaxEventsPerKey, m.First, m.Top = [][]byte{[]byte("a"), []byte("b")}, 1, 2, costing(10), costing(10)
	c := testConfig(m, share(m, 4, 2))
	c.Budget.Mu2 = big.NewInt(40 + 2*17 + 16) // one window of m, what is kept, and the share's first window
	out := mustRun(t, c, onePartition(
		seen("u", "a", 1), seen("u", "a", 2), seen("u", "a", 3), // 2 counted, 1 beyond the bound
		seen("u", "a", 11), seen("u", "a", 12), // not within the budget any more
		seen("u", "a", 21), seen("u", "a", 22), seen("u", "a", 23), seen("u", "a", 24), seen("u", "b", 25), // the share's bound is 4
		seen("u", "x", 26), // no event of m
	), 3)
	wantCounts(t, out, 1, 1, map[string]int64{"counted": 2, "left_out": 1})
	wantCounts(t, out, 2, 1, map[string]int64{"counted": 0, "left_out": 2})
	wantCounts(t, out, 3, 1, map[string]int64{"counted": 0, "left_out": 4})
	wantSpent(t, c, out, map[string]int64{"u0": 4*10 + (2*2 + 1) + 2*2 + 4*4}, nil)
}
