package integration

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// scattered are values of several components: of private keys over sliding and over fixed windows,
// and of public keys over sliding ones.
func scattered(c *pipeline.Config) {
	c.Events.Format.Value = "amount"
	value := func(m pipeline.Metric, kind string, target float64) pipeline.Metric {
		m.Kind, m.Min, m.Max, m.MaxEventsPerKey, m.Noise = kind, -1, 6, 2, 5
		m.Target = noisereduction.Target{Absolute: target, Confidence: 0.9}
		return m
	}
	c.Metrics = []pipeline.Metric{
		value(privately(countOf("level", 30*time.Second)), "mean", 1),
		value(countOf("spread", 30*time.Second), "standard_deviation", 2),
		value(privately(countOf("scatter", 10*time.Second)), "variance", 3),
	}
	c.Metrics[0].Slide, c.Metrics[1].Slide = 10*time.Second, 10*time.Second
	c.Privacy.Epsilon *= 3 // so that private keys pass their threshold after the change, too
}

// A change of bounds, ranges, targets and the noise key, in the middle of windows, and a process
// that dies before and after it leave means, variances and standard deviations as the reference has
// them: what was published stays, and nothing is released of the windows that were open.
func TestRuleValuesOfSeveralComponentsSurviveAChangeAndARestart(t *testing.T) {
	d := newDeployment(t, startBroker(t), "values-change", 2, scattered)
	w := calm(110)
	w.Bought, w.Windows, w.Events = true, 14, 260
	d.load(scatter(w.arrivals(), 2, 1))
	d.crashAt(crashpoint.CountsWritten, 2, 0)
	d.runTurns(3)
	d.verify()
	before, err := d.readCounts()
	if err != nil {
		t.Fatal(err)
	}
	result := d.change(func(c *pipeline.Config) {
		m := c.Metrics
		m[0].Max, m[0].MaxKeysPerUser = 9, 1
		m[1].Min, m[1].MaxEventsPerKey, m[1].Target.Absolute = 0, 3, 1.5
		m[2].Max, m[2].Ladder.Factor = 4, 2
		c.Metrics = []pipeline.Metric{m[2], m[0], m[1]}
		c.Keys.Noise = []noisereduction.NoiseKey{{ID: "k2", Secret: secret.New([32]byte{8, 8, 8})}}
	})
	if fmt.Sprint(result.GivenUp) != "[level spread]" {
		t.Errorf("the change tells %+v", result)
	}
	d.crashAt(crashpoint.CountsWritten, result.FromTurn, 0)
	d.crashAt(crashpoint.DeltaWritten, result.FromTurn+2, 0)
	d.run()
	d.verify()

	after, err := d.readCounts()
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range before.values {
		if !bytes.Equal(after.values[key], value) {
			t.Error("a value that was published before the change is another one after it")
		}
	}
	if len(before.values) == 0 {
		t.Error("the case says little: nothing was published before the change")
	}
	for _, value := range after.values {
		r, err := schemas.DecodeRelease(value)
		if err != nil {
			t.Fatal(err)
		}
		if at := result.From.UnixMilli(); r.WindowStart < at && at < r.WindowEnd {
			t.Errorf("metric %s has a value of a window that the change has ended early", r.Metric)
		}
	}
	for _, name := range []string{"level", "scatter"} { // of private keys
		at := slices.IndexFunc(d.config.Metrics, func(m pipeline.Metric) bool { return m.Name == name })
		released, suppressed := 0, 0
		for _, draw := range d.reference().Draws {
			switch {
			case draw.Metric != at:
			case draw.Released:
				released++
			default:
				suppressed++
			}
		}
		if released == 0 || suppressed == 0 {
			t.Errorf("the case says little: %d keys of %s were released, %d suppressed", released, name, suppressed)
		}
	}
}
