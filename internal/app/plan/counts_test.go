package plan

import (
	"math"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func private(t *testing.T, change func(*pipeline.Config)) *pipeline.Deployment {
	t.Helper()
	cfg := deploytest.Config("localhost:1")
	cfg.Metrics = []pipeline.Metric{{
		Name: "views", Window: time.Hour, Keys: pipeline.Keys{Mode: "private"}, MaxKeysPerUser: 2, MaxEventsPerKey: 2,
		Target: noisereduction.Target{Relative: .1, Confidence: .95}, LastAtLeast: 24,
	}}
	change(&cfg)
	d, err := pipeline.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What is said of counts follows from the law of the noise: a count at the threshold comes out in
// half of the cases, one beyond all noise always, and its interval is as the target asks.
func TestCountsAreTheLawOfTheNoise(t *testing.T) {
	d := private(t, func(*pipeline.Config) {})
	m := &d.Metrics[0]
	all := countsOf(m)
	for _, c := range all {
		z := (c.Count - m.Plan.Threshold()) * math.Sqrt(m.Spec.First.Float())
		if c.Typical == nil || *c.Typical > 1 || c.Shown < 0.45 && *c.Typical < 1 {
			t.Errorf("a count of %v: %+v", c.Count, c)
		} else if c.Shown == 1 && c.Met == 1 && *c.Typical > 0.1 {
			t.Errorf("a count of %v meets ± 10 %% and is typically %v away", c.Count, *c.Typical)
		}
		if want := math.Erfc(-z/math.Sqrt2) / 2; math.Abs(c.Shown-want) > 0.05 { // 4.5 standard errors
			t.Errorf("a count of %v comes out with %v, by the normal law with %v", c.Count, c.Shown, want)
		}
	}
	if last := all[len(all)-1]; last.Met != 1 || last.Error > 0.1*last.Count {
		t.Errorf("a count beyond all noise: %+v", last)
	}
	// Of public keys without a target, the noise is normal: its median is 0.6745 σ.
	d = private(t, func(c *pipeline.Config) {
		c.Metrics[0].Keys, c.Metrics[0].Target = pipeline.Keys{Mode: "public", List: []string{"a"}}, noisereduction.Target{Confidence: .95}
	})
	for _, c := range countsOf(&d.Metrics[0]) {
		sigma := 1 / math.Sqrt(d.Metrics[0].Spec.Top.Float())
		if got := *c.Typical * c.Count / sigma; math.Abs(got-0.6745) > 0.09 { // 5 standard errors
			t.Errorf("a count of %v is typically %v σ away", c.Count, got)
		}
	}
}

// The sizes of a sum reach those that meet its target, however large its values are.
func TestSizesOfASumGrowWithItsValues(t *testing.T) {
	for _, most := range []int64{1, 100, 1000, 20_000, 500_000} {
		d := private(t, func(c *pipeline.Config) {
			m := &c.Metrics[0]
			m.Kind, m.Max = "sum", most
			m.Keys = pipeline.Keys{Mode: "public", List: []string{"a"}}
			c.Events.Format.Value = "price"
		})
		all := countsOf(&d.Metrics[0])
		if first, last := all[0], all[len(all)-1]; first.Met > 0 || last.Met != 1 || last.Error > 0.1*last.Count {
			t.Errorf("values up to %d: %+v to %+v", most, first, last)
		}
	}
}

// What a count is said to need does, and what is one step less does not.
func TestNeedsAreTheLeastThatDo(t *testing.T) {
	d := private(t, func(*pipeline.Config) {})
	needs := needsOf(d, 0, &d.Metrics[0])
	if len(needs) != 2 || needs[0].Count != 100 || needs[1].Count != 1000 {
		t.Fatalf("needs %+v", needs)
	}
	does := func(size float64, change func(*pipeline.Config)) bool {
		m := &private(t, change).Metrics[0]
		return m.Plan.MeetableFrom() <= size && m.Plan.Threshold() <= size
	}
	// Counts of 100 need an ε of some 45, which protects hardly anyone: it is not proposed.
	if most := needs[0].Epsilon; most != 0 || does(100, func(c *pipeline.Config) { c.Privacy.Epsilon = 10 }) {
		t.Errorf("ε %v for counts of 100", most)
	}
	if needs[1].Epsilon == 0 {
		t.Error("no ε for counts of 1000")
	}
	for _, n := range needs {
		if n.Epsilon > 0 && (!does(n.Count, func(c *pipeline.Config) { c.Privacy.Epsilon = n.Epsilon }) || does(n.Count, func(c *pipeline.Config) { c.Privacy.Epsilon = n.Epsilon / 1.3 })) {
			t.Errorf("ε %v for counts of %v", n.Epsilon, n.Count)
		}
		if n.Windows > 0 && (!does(n.Count, func(c *pipeline.Config) { c.Metrics[0].LastAtLeast = n.Windows }) || does(n.Count, func(c *pipeline.Config) { c.Metrics[0].LastAtLeast = 2*n.Windows + 1 })) {
			t.Errorf("%d windows for counts of %v", n.Windows, n.Count)
		}
	}
}
