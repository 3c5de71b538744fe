package advice_test

import (
	"math"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// A metric that shares a budget is forecast with what its lifetime can take of it, and one that
// does not with all of it.
func TestAMetricIsForecastWithItsPartOfTheBudget(t *testing.T) {
	t.Parallel()
	s := advice.Setting{Window: time.Hour, KeysPerUser: 3, EventsPerKey: 2, LastAtLeast: 24, Epsilon: 1, Relative: 0.1}
	whole, err := settings(s).Compile()
	if err != nil {
		t.Fatal(err)
	}
	cfg := whole.Config
	for share, want := range map[float64]float64{0: 0.5, 0.25: 0.25} {
		cfg.Metrics = append(whole.Config.Metrics[:1:1], whole.Config.Metrics[0])
		cfg.Metrics[0].Name, cfg.Metrics[0].Share, cfg.Metrics[1].Share = "first", 0, share
		if share > 0 {
			cfg.Metrics[0].Share = 1 - share
		}
		d, err := advice.OfMetric(cfg, cfg.Metrics[1].Name)(s)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Metrics) != 1 || d.Metrics[0].Spec.Name != cfg.Metrics[1].Name {
			t.Fatalf("%d metrics", len(d.Metrics))
		}
		if got := float64(d.Budget.Mu2) / float64(whole.Budget.Mu2); math.Abs(got-want) > 1e-3 {
			t.Errorf("share %v: %.4f of the budget, want %v", share, got, want)
		}
		if got := d.Budget.Keys.Float() / whole.Budget.Keys.Float(); math.Abs(got-want) > 1e-3 {
			t.Errorf("share %v: %.4f of δ for keys, want %v", share, got, want)
		}
	}
	// The part of a mean is as large, though it pays for two components.
	cfg.Metrics = append(whole.Config.Metrics[:1:1], whole.Config.Metrics[0])
	cfg.Events.Format.Value, cfg.Metrics[0].Name, cfg.Metrics[0].Share = "value", "first", 0
	mean, of := &cfg.Metrics[1], s
	mean.Kind, mean.Share, mean.Target.Relative, mean.Target.Absolute = metrickind.Mean, 0, 0, 5
	of.Relative, of.Max = 0, 100
	halved, err := advice.OfMetric(cfg, mean.Name)(of)
	if err != nil {
		t.Fatal(err)
	}
	if got := float64(halved.Budget.Mu2) / float64(whole.Budget.Mu2); math.Abs(got-0.5) > 1e-3 {
		t.Errorf("a mean has %.4f of the budget, want 0.5", got)
	}
	d, err := advice.OfMetric(whole.Config, whole.Config.Metrics[0].Name)(s)
	if err != nil || d.Budget != whole.Budget {
		t.Errorf("%v: %+v, want %+v", err, d.Budget, whole.Budget)
	}
	s.Window, s.LastAtLeast, s.Epsilon = 6*time.Hour, 5, 2
	if d, err = advice.OfMetric(whole.Config, whole.Config.Metrics[0].Name)(s); err != nil || d.Metrics[0].Spec.WindowSize != s.Window.Milliseconds() || d.Budget.Epsilon != 2 {
		t.Errorf("%v: %+v", err, d)
	}
}
