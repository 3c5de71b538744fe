package plan

import (
	"math"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func private(t *testing.T, change func(*pipeline.Config)) *pipeline.Deployment {
	t.Helper()
	cfg := deploytest.Config("localhost:1")
	cfg.Metrics = []pipeline.Metric{{
		Name: "views", Window: time.Hour, Keys: pipeline.Keys{Mode: "private"}, MaxKeysPerUser: 2, MaxEventsPerKey: 2,
		Target: noisereduction.Target{Relative: .1, Absolute: 160, Confidence: .95},
	}}
	cfg.Privacy.Lasts = 24 * time.Hour
	change(&cfg)
	d, err := pipeline.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Forecasts follow the law of the noise: a count at the threshold is published in half of the
// cases, one beyond all noise always, and its interval meets the target.
func TestCountsAreTheLawOfTheNoise(t *testing.T) {
	d := private(t, func(*pipeline.Config) {})
	m := &d.Metrics[0]
	all := countsOf(m)
	for _, c := range all {
		z := (c.Count - m.Plan.Threshold()) * math.Sqrt(m.Spec.First.Float())
		if c.Typical == nil || *c.Typical > 1 || c.Shown < 0.45 && *c.Typical < 1 {
			t.Errorf("a count of %v: %+v", c.Count, c)
		} else if c.Shown == 1 && c.Met == 1 && *c.Typical > 0.1 {
			t.Errorf("a count of %v meets ± 10%% and is typically %v away", c.Count, *c.Typical)
		}
		if want := math.Erfc(-z/math.Sqrt2) / 2; math.Abs(c.Shown-want) > 0.05 { // 4.5 standard errors
			t.Errorf("a count of %v comes out with %v, by the normal law with %v", c.Count, c.Shown, want)
		}
	}
	if last := all[len(all)-1]; last.Met != 1 || last.Error > 0.1*last.Count {
		t.Errorf("a count beyond all noise: %+v", last)
	}
	// For public keys without a relative target, the noise is normal: its median is 0.6745 σ.
	d = private(t, func(c *pipeline.Config) {
		c.Metrics[0].Keys, c.Metrics[0].Target = pipeline.Keys{Mode: "public", List: []string{"a"}},
			noisereduction.Target{Absolute: 160, Confidence: .95}
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
			m.Kind, m.Max, m.Target.Absolute = "sum", most, float64(160*most)
			m.Keys = pipeline.Keys{Mode: "public", List: []string{"a"}}
			c.Events.Format.Value = "price"
		})
		all := countsOf(&d.Metrics[0])
		if last := all[len(all)-1]; last.Met != 1 || last.Error > 0.1*last.Count {
			t.Errorf("values up to %d: %+v", most, last)
		}
	}
}

// The users of a sum have the values that cost most.
func TestUsersOfASumHaveTheGreatestValues(t *testing.T) {
	for _, bounds := range [][2]int64{{0, 100}, {-100, 0}, {50, 100}} {
		d := private(t, func(cfg *pipeline.Config) {
			cfg.Metrics[0].Kind, cfg.Metrics[0].Keys = "sum", pipeline.Keys{Mode: "public", List: []string{"a"}}
			cfg.Metrics[0].MaxKeysPerUser, cfg.Metrics[0].MaxEventsPerKey = 0, 0
			cfg.Metrics[0].Min, cfg.Metrics[0].Max = bounds[0], bounds[1]
			cfg.Metrics[0].Target = noisereduction.Target{Absolute: 2000, Confidence: .95}
			cfg.Events.Format.Value = "value"
		})
		who, err := deployment.SimulateUsers(d.Budget, d.Specs(), d.Metrics[0].Spec.Name)
		if err != nil || who[0].Share < 0.99 || who[2].Share > 0.5 || who[2].Share == 0 {
			t.Errorf("values from %d to %d: %+v, %v", bounds[0], bounds[1], who, err)
		}
	}
}
