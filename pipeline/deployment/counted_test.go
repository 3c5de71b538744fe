package deployment_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
)

// After the last_at_least windows of all metrics, with their shares of counted events
// at the worst case, every account still has what is kept for the shares: so many windows again.
func TestRuleWhatIsKeptForSharesIsLeftByLastAtLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := deploytest.Config("localhost:1")
		base := cfg.Metrics[0]
		cfg.Metrics = nil
		for i := range rapid.IntRange(1, 3).Draw(t, "metrics") {
			m := base
			m.Name, m.Ladder = string(rune('a'+i)), deployment.Ladder{}
			m.MaxKeysPerUser, m.MaxEventsPerKey = rapid.IntRange(1, 5).Draw(t, "keys"), rapid.IntRange(1, 5).Draw(t, "events")
			m.LastAtLeast = rapid.IntRange(1, 500).Draw(t, "windows")
			if i == 0 || rapid.Bool().Draw(t, "counted") {
				m.Counted = &deployment.Counted{Share: rapid.Float64Range(0.01, 0.5).Draw(t, "share"), MaxEvents: rapid.IntRange(0, 100).Draw(t, "most events")}
			}
			cfg.Metrics = append(cfg.Metrics, m)
		}
		d, err := deployment.Compile(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var metrics, shares, kept units.Mu2 // of the last_at_least windows
		at := -1
		next := func() *deployment.CompiledMetric { at++; return &d.Metrics[at] }
		charge := func(c int, u units.Precision) units.Mu2 {
			price, _ := units.Charge(uint64(c), u)
			return price
		}
		for i := range d.Config.Metrics {
			m := &d.Config.Metrics[i]
			n := units.Mu2(m.LastAtLeast)
			metrics += n * units.Mu2(m.MaxKeysPerUser) * charge(m.MaxEventsPerKey, next().Spec.Top)
			if m.Counted == nil {
				continue
			}
			spec := &next().Spec
			if spec.Kind != metrickind.Counted || spec.Name != m.Name+".counted" || spec.MaxEventsPerKey != uint32(m.Counted.MaxEvents) || m.Counted.MaxEvents == 0 {
				t.Fatalf("%+v is not the share of %s", spec, m.Name)
			}
			shares += n * (charge(m.Counted.MaxEvents, spec.Top) + 1)
			kept += units.Mu2(deployment.KeptFor(spec).Uint64())
		}
		if kept != shares || metrics+shares+kept > d.Budget.Mu2 {
			t.Fatalf("%d units for metrics, %d for shares and %d kept, of %d", metrics, shares, kept, d.Budget.Mu2)
		}
		if 100*(metrics+shares+kept) < 98*d.Budget.Mu2 && d.Config.Metrics[0].Share == 0 {
			t.Fatalf("only %d of %d units are used", metrics+shares+kept, d.Budget.Mu2)
		}
		if !deployment.LastAtLeastFits(d) {
			t.Fatal("last_at_least does not fit")
		}
		for i, l := range deployment.Lifetimes(d) {
			if l.Windows == 0 {
				t.Errorf("%s lasts for no window", d.Metrics[i].Spec.Name)
			}
		}
	})
}

func TestSharesThatCannotBeAreRefused(t *testing.T) {
	for _, test := range []struct {
		field  string
		change func(m *deployment.Metric)
	}{
		{"metrics.views.counted.share", func(m *deployment.Metric) { m.Counted.Share = 1 }},
		{"metrics.views.counted.max_events", func(m *deployment.Metric) { m.Counted.MaxEvents = -1 }},
		{"metrics.views.last_at_least", func(m *deployment.Metric) { m.LastAtLeast, m.Ladder.Sigma = 0, 100 }},
		{"metrics.views.last_at_least", func(m *deployment.Metric) { m.LastAtLeast, m.Ladder.Sigma = 1<<31, 100 }},
		{"metrics.views.counted", func(m *deployment.Metric) { m.Counted.MaxEvents, m.Counted.Share = 1<<30, 1e-6 }},
		{"metrics.views.counted", func(m *deployment.Metric) {
			m.Counted.Share, m.Ladder.Sigma, m.LastAtLeast = 0.9, 1000, 1<<29
		}},
	} {
		cfg := deploytest.Config("localhost:1")
		cfg.Metrics = cfg.Metrics[:1]
		cfg.Metrics[0].Counted = new(deployment.Counted)
		test.change(&cfg.Metrics[0])
		_, err := deployment.Compile(cfg)
		var bad *deployment.ConfigError
		if !errors.As(err, &bad) || bad.Field != test.field || bad.Reason == "" {
			t.Errorf("want an error about %s, got: %v", test.field, err)
		}
	}
}
