package forecast_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/forecast"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// A statistic beside a value has the errors that a metric of its own would have at the same noise,
// as long as all users can pay: the same events are left out. Beside quantiles with L levels, the
// components of a mean have 1/√(2L) of the noise.
func TestWhatStandsBesideHasTheErrorsOfItsKind(t *testing.T) {
	var cells []sample.Cell
	for u := range uint32(400) {
		cells = append(cells, sample.Cell{User: u, Events: 1 + u%5, Value: float32(u % 20)}, sample.Cell{User: u, Events: 1, Value: 60})
	}
	w := same(5, 1, cells...)
	const sigma = 40
	forecastOf := func(kind string, noise float64, also ...string) *forecast.Forecast {
		settings := demo.Settings{Epsilon: 50, MaxKeysPerUser: 1, MaxEventsPerKey: 3, LastAtLeast: 1, PublicKeys: []string{"k0"}, Kind: kind}
		settings.Also, settings.Target = also, noisereduction.Target{Relative: 1e-6, Confidence: .95}
		if metrickind.Of(kind).Values {
			settings.Min, settings.Max, settings.Target = 0, 100, noisereduction.Target{Confidence: .95}
		}
		if kind == metrickind.Quantiles {
			settings.Ranks = []float64{0.5}
		}
		d := compiled(t, settings, func(c *deployment.Config) { c.Metrics[0].LastAtLeast, c.Metrics[0].Ladder.Sigma = 0, noise })
		return of(t, w, d, forecast.Options{Paths: 300, Seed: 1})
	}
	alike := func(what string, got forecast.Beside, want *forecast.Forecast) {
		t.Helper()
		if math.Abs(got.Left-want.Left) > 1e-9 || want.Left < 0.01 {
			t.Errorf("%s: %v left out, want %v", what, got.Left, want.Left)
		}
		// Medians of 1,500 draws in all: a standard error of less than 4 %.
		if math.Abs(got.Noise/want.Noise-1) > 0.18 || math.Abs(got.Typical-want.Typical) > 0.18*max(got.Noise, want.Noise) {
			t.Errorf("%s: noise %v of %v, want %v of %v", what, got.Noise, got.Typical, want.Noise, want.Typical)
		}
	}
	deviations := forecastOf(metrickind.StandardDeviation, sigma, metrickind.Mean, metrickind.Events)
	alike("a mean beside a deviation", deviations.Beside[0], forecastOf(metrickind.Mean, sigma))
	alike("the number beside a deviation", deviations.Beside[1], forecastOf(metrickind.Events, sigma))
	quantiles := forecastOf(metrickind.Quantiles, sigma, metrickind.Mean)
	alike("a mean beside quantiles of three levels", quantiles.Beside[0], forecastOf(metrickind.Mean, sigma/math.Sqrt(6)))
}

// No node is drawn for a key that does not come out: users pay for the number of its events alone,
// for more than 100 windows. Three levels of nodes as well would be paid for 8.
func TestNodesOfKeysThatDoNotComeOutAreFree(t *testing.T) {
	w := same(100, 1, sample.Cell{User: 0, Events: 1, Value: 5}, sample.Cell{User: 1, Events: 1, Value: 50})
	settings := demo.Settings{Epsilon: 1, MaxKeysPerUser: 1, MaxEventsPerKey: 1, LastAtLeast: 1, Kind: metrickind.Quantiles, Max: 100}
	settings.Ranks, settings.Target = []float64{0.5}, noisereduction.Target{Confidence: .95}
	d := compiled(t, settings, func(c *deployment.Config) { c.Metrics[0].LastAtLeast, c.Metrics[0].Ladder.Sigma = 100, 60 })
	f := of(t, w, d, forecast.Options{Paths: 3})
	if f.Shown > 0 || f.Lost[0].Users > 0 {
		t.Errorf("%v values come out, and %v users have spent their budget on those that do not", f.Shown, f.Lost[0].Users)
	}
}
