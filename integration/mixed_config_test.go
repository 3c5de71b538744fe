package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// mixed configures metrics of all kinds and key modes, with fixed and sliding windows of different
// sizes, filters, budgets for some windows, and budget periods that end within windows.
func mixed(c *pipeline.Config) {
	c.Events.Format.Value = "amount"
	periodOf(45 * time.Second)(c)
	c.Metrics = []pipeline.Metric{
		countOf("visits", 10*time.Second),
		privately(countOf("pages", 10*time.Second)),
		keysFrom("spent", "pages", 10*time.Second),
		countOf("gifts", 30*time.Second),
		privately(usersOf("people", 30*time.Second)),
		sumOf("balance", 40*time.Second),
		countOf("day", 120*time.Second),
		varianceOf("scatter", "pages", 10*time.Second),
		quantilesOf("prices", "people", 30*time.Second),
		histogramOf("amounts", "people", 30*time.Second),
		logarithmically(quantilesOf("sizes", "pages", 10*time.Second)),
	}
	for i, precise := range map[int]float64{0: 0.05, 3: 0.1} { // two metrics that exhaust their buckets
		m := &c.Metrics[i]
		m.MaxKeysPerUser, m.MaxEventsPerKey = 1, 0
		m.Target.Relative, m.Target.Absolute = precise, 2
	}
	c.Metrics[0].Counted = &pipeline.Counted{Share: 0.2, MaxEvents: 3}
	c.Metrics[1].Counted = &pipeline.Counted{Share: 0.3}
	c.Metrics[3].Slide, c.Metrics[3].Filter = 10*time.Second, "item.gift"
	c.Metrics[4].Slide, c.Metrics[4].Filter = 10*time.Second, `item.category != "toy"`
	c.Metrics[4].Counted = &pipeline.Counted{MaxEvents: 20}
	c.Metrics[6].Counted = &pipeline.Counted{Share: 0.1, MaxEvents: 2}
	c.Metrics[5].Slide, c.Metrics[8].Slide, c.Metrics[9].Slide = 20*time.Second, 10*time.Second, 10*time.Second
	c.Metrics[5].Filter = `amount < 8`
	c.Metrics[1].MaxKeysPerUser, c.Metrics[7].MaxEventsPerKey, c.Metrics[7].MaxKeysPerUser = 0, 0, 0
}

// forLife replaces the periods by one budget for life.
func forLife(c *pipeline.Config) { c.Privacy.Period, c.Privacy.Lasts = 0, 100*time.Second }

func countOf(name string, window time.Duration) pipeline.Metric {
	m := publicMetric(name, window)
	m.Target.Relative, m.Target.Absolute = 0.3, 4
	return m
}

func usersOf(name string, window time.Duration) pipeline.Metric {
	m := countOf(name, window)
	m.Kind, m.MaxEventsPerKey, m.MaxKeysPerUser = "distinct_users", 1, 3
	return m
}

func privately(m pipeline.Metric) pipeline.Metric {
	m.Keys = pipeline.Keys{Mode: pipeline.KeysPrivate}
	m.Ladder = pipeline.Ladder{Kind: string(noisereduction.Geometric), Factor: 1.5}
	return m
}

// sumOf returns a sum that may be negative.
func sumOf(name string, window time.Duration) pipeline.Metric {
	m := countOf(name, window)
	m.Kind, m.Min, m.Max = "sum", -5, 15
	m.Target = noisereduction.Target{Absolute: 30, Confidence: 0.95}
	return m
}

// varianceOf returns a variance, for the keys of another metric.
func varianceOf(name, base string, window time.Duration) pipeline.Metric {
	m := keysFrom(name, base, window)
	m.Kind, m.Max, m.MaxEventsPerKey, m.Also = "variance", 6, 2, []string{"events", "mean"}
	m.Target, m.Noise = noisereduction.Target{Absolute: 4, Confidence: 0.9}, 10
	return m
}

// quantilesOf returns quantiles for the keys of another metric; their trees have three levels.
func quantilesOf(name, base string, window time.Duration) pipeline.Metric {
	m := keysFrom(name, base, window)
	m.Kind, m.Max, m.MaxEventsPerKey, m.Ranks = metrickind.Quantiles, 100, 2, []float64{0.5, 0.9}
	m.Also = []string{"standard_deviation", "mean"}
	m.Target, m.Noise = noisereduction.Target{Absolute: 0.2, Confidence: 0.9}, 10
	return m
}

// logarithmically gives quantiles a logarithmic scale on which several values share a step.
func logarithmically(m pipeline.Metric) pipeline.Metric {
	m.Scale, m.Min, m.Max, m.Ranks = pipeline.ScaleLogarithmic, -100, 300, []float64{0.75}
	m.Also = nil
	return m
}

// histogramOf returns a histogram for the keys of another metric. Its ten buckets have two parents.
// Values are below its first edge, at an edge, and above its last one.
func histogramOf(name, base string, window time.Duration) pipeline.Metric {
	m := keysFrom(name, base, window)
	m.Kind, m.Edges, m.MaxEventsPerKey = metrickind.Histogram, []float64{-8, -5, -1, 0, 3, 7, 12, 15, 20, 21, 27}, 3
	m.Min, m.Max, m.Also = 0, 0, []string{"mean"} // 0, 0: the range of the edges
	m.Target, m.Noise = noisereduction.Target{Absolute: 20, Confidence: 0.9}, 10
	return m
}

func keysFrom(name, base string, window time.Duration) pipeline.Metric {
	m := sumOf(name, window)
	m.Min, m.Max = 0, 20
	m.Keys = pipeline.Keys{Mode: pipeline.KeysFrom, From: base}
	m.Target = noisereduction.Target{Relative: 0.4, Absolute: 30, Confidence: 0.9}
	return m
}

// shoppers returns a workload for mixed deployments.
func shoppers(seed uint64) workload {
	w := usualWorkload(seed)
	w.Bought, w.Windows = true, pick(14, 26)
	return w
}

// backlog returns a small workload, for tests that run it several times.
func backlog(seed uint64) workload {
	w := shoppers(seed)
	w.Windows, w.Events = 14, 80
	return w
}

// shoppersAtPeace returns a workload for mixed deployments whose records are all accepted.
func shoppersAtPeace(seed uint64) workload {
	w := calm(seed)
	w.Bought, w.Windows = true, pick(14, 26)
	return w
}

// checkVariety fails a test whose case has become too tame: every outcome must occur.
func (d *deployment) checkVariety() {
	d.t.Helper()
	want := d.reference()
	var sum reference.MetricTallies
	for _, m := range want.tallies.Metrics {
		sum.Filtered, sum.Counted = sum.Filtered+m.Filtered, sum.Counted+m.Counted
		sum.Beyond, sum.Open = sum.Beyond+m.Beyond, sum.Open+m.Open
	}
	if sum.Filtered == 0 || sum.Beyond == 0 || sum.Counted == 0 {
		d.t.Errorf("the case is too tame: %+v", sum)
	}
	released, suppressed, met, fromKeys, negative := 0, 0, 0, 0, 0
	specs := d.referenceConfig().Metrics
	var draws []reference.Draw
	var values []reference.Published
	var members []*reference.Member
	for _, turn := range want.turns {
		draws, values = append(draws, turn.Draws...), append(values, turn.Published...)
		members = append(members, slices.Concat(turn.Members...)...)
	}
	for _, draw := range draws {
		switch {
		case !draw.Released:
			suppressed++
		case specs[draw.Metric].KeyMode == "from":
			fromKeys++
		}
		if draw.Released {
			released++
		}
		if draw.Count < 0 {
			negative++
		}
	}
	for _, p := range values {
		if p.Release.Met {
			met++
		}
	}
	if suppressed == 0 || fromKeys == 0 || met == 0 || met == released || negative == 0 {
		d.t.Errorf("the case is too tame: %d values, %d met, %d with keys of another metric, %d keys suppressed, "+
			"%d totals negative", released, met, fromKeys, suppressed, negative)
	}
	refused, admitted := 0, 0
	for _, m := range members {
		for _, decision := range m.Parts {
			if decision.Admitted {
				admitted++
			} else {
				refused++
			}
		}
	}
	d.t.Logf("%d windows of users refused, %d admitted; %+v", refused, admitted, sum)
	if refused == 0 || admitted == 0 {
		d.t.Errorf("the case is too tame: %d windows of users were refused, %d admitted", refused, admitted)
	}
}

// reference returns the values that the last audit has recomputed.
func (d *deployment) reference() *verified {
	d.t.Helper()
	if d.verified == nil {
		d.t.Fatal("nothing has been verified")
	}
	return d.verified
}

func newMixed(t testing.TB, broker, name string, partitions int, change ...settings) *deployment {
	t.Helper()
	return newDeployment(t, broker, "mixed-"+name, partitions, append([]settings{mixed}, change...)...)
}

func numbered(name string, n int) string { return fmt.Sprintf("%s%d", name, n) }
