package forecast_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/forecast"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/shapes"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func defaults(s shapes.Shape) demo.Settings {
	return demo.Settings{Epsilon: 1, Delta: 1e-6, Accountant: "gdp", Window: s.Window, Target: noisereduction.Target{Relative: .1, Confidence: .95},
		MaxKeysPerUser: 2, MaxEventsPerKey: 2, LastAtLeast: 24}
}

// sampled returns the windows of all events.
func sampled(t *testing.T, events []shapes.Event, size time.Duration) *sample.Windows {
	t.Helper()
	c := sample.NewCollector(sample.Options{Step: size, Values: slices.ContainsFunc(events, func(e shapes.Event) bool { return e.Value != 0 })})
	for _, e := range events {
		c.AddN([]byte(e.User), []byte(e.Key), e.At.UnixMilli(), e.Value, 1)
	}
	w, err := c.Sample().Windows(size)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// score compares a forecast with what the product released: how many of the comparisons of random
// numbers are beyond two standard errors. Of right forecasts 1 in 20 are, and beyond four 1 in
// 16,000: with some 240 comparisons the test fails by chance once in 60 choices of noise keys.
// What is allowed in any case is least: one count, key or event.
type score struct{ all, beyond int }

func (s *score) compare(t *testing.T, what string, got []float64, want, deviation, least float64, paths int) {
	t.Helper()
	mean, n := 0.0, float64(len(got))
	for _, v := range got {
		mean += v / n
	}
	se := deviation * math.Sqrt(1/float64(paths)+1/n)
	wrong := math.Abs(mean - want)
	if se > 0 {
		s.all++
		if wrong > max(2*se, least) {
			s.beyond++
			t.Logf("%s is %.2f, forecast %.2f: %.1f standard errors", what, mean, want, wrong/se)
		}
	}
	if wrong > max(4*se, least) {
		t.Errorf("%s is %.2f, forecast %.2f ± %.2f", what, mean, want, se)
	}
}

// What is forecast is what the product releases: of ten shapes of data, under settings that hide
// much, that release most, and with public keys, over noise keys.
func TestForecastsAreWhatTheProductReleases(t *testing.T) {
	long.Test(t)
	keys, all := 3, shapes.All()[:6]
	dir := t.TempDir()
	var score score
	for _, s := range all {
		events := s.Events()
		if s.Name == "windows" { // a turn takes milliseconds: the same events in 2,000 windows instead of 10,000
			for i := range events {
				events[i].At = shapes.Start.Add(events[i].At.Sub(shapes.Start) / 5)
			}
		}
		w := sampled(t, events, s.Window)
		wide := defaults(s)
		wide.Epsilon, wide.MaxKeysPerUser, wide.MaxEventsPerKey, wide.LastAtLeast = 8, 5, 3, 3
		public := defaults(s)
		public.PublicKeys = []string{"k0000", "k0001", "k0002", "k9999"}
		for name, settings := range map[string]demo.Settings{"defaults": defaults(s), "wide": wide, "public": public} {
			keys := keys
			if s.Name == "windows" {
				if keys = 1; name != "wide" {
					continue
				}
			}
			t.Run(s.Name+" "+name, func(t *testing.T) { score.product(t, dir, s, events, w, settings, keys) })
		}
	}
	score.judge(t)
}

// product compares the forecast of settings with what the product releases, over noise keys.
func (s *score) product(t *testing.T, dir string, shape shapes.Shape, events []shapes.Event, w *sample.Windows, settings demo.Settings, keys int) {
	const paths = 100
	d, err := settings.Compile()
	if err != nil {
		t.Fatal(err)
	}
	f, err := forecast.Of(t.Context(), w, d, forecast.Options{Paths: paths, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]*shapes.Measured, keys)
	for key := range got {
		if got[key], err = shapes.Measure(t.Context(), dir, shape, events, settings, uint64(key)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what     string
		want, se float64
		of       func(*shapes.Measured) float64
	}{
		{"truth", f.Truth, f.SE.Truth, func(m *shapes.Measured) float64 { return m.Truth }},
		{"kept", f.Kept, f.SE.Kept, func(m *shapes.Measured) float64 { return m.Kept }},
		{"counted", f.Counted, f.SE.Counted, func(m *shapes.Measured) float64 { return m.Counted }},
		{"counts", f.Counts, f.SE.Counts, func(m *shapes.Measured) float64 { return m.Counts }},
		{"shown", f.Shown, f.SE.Shown, func(m *shapes.Measured) float64 { return m.Shown }},
		{"truth shown", f.ShownTruth, f.SE.ShownTruth, func(m *shapes.Measured) float64 { return m.ShownTruth }},
		{"keys", f.KeysEver, f.SE.KeysEver, func(m *shapes.Measured) float64 { return m.KeysEver }},
		{"keys shown", f.KeysShown, f.SE.KeysShown, func(m *shapes.Measured) float64 { return m.KeysShown }},
		{"met", f.Met, f.SE.Met, func(m *shapes.Measured) float64 { return m.Met }},
		{"typical error", f.Typical, f.SE.Typical, func(m *shapes.Measured) float64 { return m.Typical }},
		{"error", f.Error, f.SE.Error, func(m *shapes.Measured) float64 { return m.Error }},
	} {
		least := 1.0
		if c.what == "error" { // no number of anything
			if least = 0; f.Shown < 10 {
				continue // the mean of few is not normal
			}
		}
		if c.what == "typical error" {
			if least = 0.005; f.Cells < 10 {
				continue
			}
		}
		values := make([]float64, keys)
		for i, m := range got {
			values[i] = c.of(m)
		}
		s.compare(t, c.what, values, c.want, c.se*math.Sqrt(paths), least, paths)
	}
	t.Logf("truth %.0f kept %.0f counted %.0f shown %.1f of %.0f keys %.1f of %.0f error %.1f met %.0f", f.Truth, f.Kept, f.Counted, f.Shown, f.Counts, f.KeysShown, f.KeysEver, f.Error, f.Met)
}

// judge fails the test if too many comparisons are beyond two standard errors.
func (s *score) judge(t *testing.T) {
	t.Logf("%d of %d comparisons are beyond two standard errors", s.beyond, s.all)
	if float64(s.beyond) > 1+0.1*float64(s.all) {
		t.Errorf("%d of %d comparisons are beyond two standard errors", s.beyond, s.all)
	}
}

// So it is of means and standard deviations, of values that are all positive with a long tail, or
// on both sides of 0: all components have noise, cost and clipping of their own, and users spend
// all that they have.
func TestForecastsOfMeansAreWhatTheProductReleases(t *testing.T) {
	long.Test(t)
	dir := t.TempDir()
	var score score
	for _, s := range shapes.Valued() {
		s.Window = min(s.Window, 4*time.Hour) // of which there are more than budgets last for
		events := s.Events()
		w := sampled(t, events, s.Window)
		few, private := defaults(s), defaults(s)
		few.PublicKeys, few.LastAtLeast, few.MaxKeysPerUser = []string{"k0000", "k0001", "k9999"}, 3, 1
		private.Epsilon, private.MaxEventsPerKey, private.LastAtLeast = 4, 3, 4
		for name, settings := range map[string]demo.Settings{"few windows": few, "private": private} {
			settings.Kind, settings.Min, settings.Max, settings.Target.Relative, settings.Target.Absolute = metrickind.Mean, 0, 400, 0, 20
			if s.Name == "sensors" {
				settings.Min, settings.Max, settings.Target.Absolute = -80, 60, 10
			}
			t.Run(s.Name+" "+name, func(t *testing.T) { score.product(t, dir, s, events, w, settings, 3) })
			settings.Kind, settings.Target.Absolute = metrickind.StandardDeviation, 3*settings.Target.Absolute
			t.Run(s.Name+" "+name+" deviations", func(t *testing.T) { score.product(t, dir, s, events, w, settings, 3) })
		}
	}
	score.judge(t)
}

// Of quantiles a forecast says how many events are counted, and how far their numbers are off. What
// users pay for trees is estimated without noise: each figure is within 15 % of the product's.
func TestForecastsOfQuantilesAreNearTheProduct(t *testing.T) {
	long.Test(t)
	const keys = 3
	dir := t.TempDir()
	for _, s := range shapes.Valued() {
		s.Window = min(s.Window, 4*time.Hour)
		events := s.Events()
		w := sampled(t, events, s.Window)
		settings := defaults(s)
		settings.PublicKeys, settings.LastAtLeast, settings.MaxKeysPerUser, settings.MaxEventsPerKey = []string{"k0000", "k0001"}, 1, 1, 2
		settings.Epsilon, settings.Kind, settings.Target.Relative, settings.Target.Absolute = 8, metrickind.Quantiles, 0, 0.05
		if settings.Min, settings.Max = 0, 400; s.Name == "sensors" {
			settings.Min, settings.Max, settings.Epsilon = -80, 60, 60 // few devices
		}
		d, err := settings.Compile()
		if err != nil {
			t.Fatal(err)
		}
		f, err := forecast.Of(t.Context(), w, d, forecast.Options{Paths: 20, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var counted, kept, typical float64
		for key := range uint64(keys) {
			m, err := shapes.Measure(t.Context(), dir, s, events, settings, key)
			if err != nil {
				t.Fatal(err)
			}
			counted, kept, typical = counted+m.Counted/keys, kept+m.Kept/keys, typical+m.Typical/keys
		}
		t.Logf("%s: counted %.0f, forecast %.0f, of %.0f and %.0f; typical error %.3f, forecast %.3f", s.Name, counted, f.Counted, kept, f.Kept, typical, f.Typical)
		if math.Abs(f.Counted-counted) > 0.15*counted || math.Abs(f.Typical-typical) > 0.15*max(typical, 0.05) {
			t.Errorf("%s: the forecast is not near", s.Name)
		}
	}
}

// Which of a user's keys stay is the same in all windows, in the product and in its forecast: a
// user who comes back with the same two keys is counted for the same one of them, 1 or 3 events a
// window.
func TestAUserKeepsTheSameKeysInAllWindows(t *testing.T) {
	const windows = 10
	s := shapes.Shape{Name: "same keys", Window: time.Hour}
	var events []shapes.Event
	for i := range windows {
		for j, key := range []string{"few", "many", "many", "many"} {
			events = append(events, shapes.Event{User: "u", Key: key, At: shapes.Start.Add(time.Duration(i)*time.Hour + time.Duration(j)*time.Second)})
		}
	}
	settings := defaults(s)
	settings.PublicKeys, settings.MaxKeysPerUser, settings.MaxEventsPerKey = []string{"few", "many"}, 1, 3
	d, err := settings.Compile()
	if err != nil {
		t.Fatal(err)
	}
	w, dir := sampled(t, events, s.Window), t.TempDir()
	seen := map[string]int{}
	for i := range 24 {
		f, err := forecast.Of(t.Context(), w, d, forecast.Options{Seed: uint64(i)})
		if err != nil {
			t.Fatal(err)
		}
		seen[fmt.Sprintf("forecast %.0f", f.Kept)]++
	}
	for key := range 6 {
		m, err := shapes.Measure(t.Context(), dir, s, events, settings, uint64(key))
		if err != nil {
			t.Fatal(err)
		}
		seen[fmt.Sprintf("product %.0f", m.Kept)]++
	}
	if len(seen) != 4 || seen["forecast 10"]+seen["forecast 30"] != 24 || seen["product 10"]+seen["product 30"] != 6 {
		t.Errorf("kept: %v, want 10 or 30 always, and both", seen)
	}
}
