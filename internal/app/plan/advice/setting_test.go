package advice

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// The sections of a configuration have the statistics that were asked for. Without them, a
// configuration would release other ones.
func TestTheConfigurationHasTheStatisticsThatWereGiven(t *testing.T) {
	for _, c := range []struct {
		kind string
		of   deployment.Statistics
		want string
	}{
		{metrickind.Quantiles, deployment.Statistics{Ranks: []float64{0.5, 0.999}, Scale: deployment.ScaleLogarithmic, Also: []string{"mean", "variance"}}, "    ranks: [0.5, 0.999]\n    scale: logarithmic\n    also: [mean, variance]\n    window"},
		{metrickind.Histogram, deployment.Statistics{Edges: []float64{-3, 0, 1 << 36}}, "    edges: [-3, 0, 68719476736]\n    window"},
		{metrickind.Histogram, deployment.Statistics{Buckets: 7}, "    buckets: 7\n    window"},
		{metrickind.Mean, deployment.Statistics{}, "    keys: {mode: private}\n    window"},
	} {
		terms := Terms{Delta: 1e-6, Kind: c.kind, Statistics: c.of}
		if got := terms.yaml(&Point{Setting: Setting{Window: time.Hour}}); !strings.Contains(got, c.want) {
			t.Errorf("%s of %+v: %s", c.kind, c.of, got)
		}
	}
}

// A configuration with the block pasted in has the terms that were forecast, and nothing of those
// before.
func TestThePastedMetricHasTheTermsThatWereForecast(t *testing.T) {
	const head = `kafka: {brokers: ["localhost:9092"]}
events: {topic: visits, format: jsonl, time_unit: ms, fields: {user: u, key: k, time: t, value: v}}
keys: {user_hash: {file: a.key}, noise: {file: b.key}}
privacy: {epsilon: 1, delta: 1e-6}
metrics:
`
	for base, s := range map[string]Setting{
		"  - {name: m, window: {size: 1h}, bounds: {max_keys_per_user: 9}, target: {relative: 0.1, confidence: 0.9}, last_at_least: 24}\n":                                        {},
		"  - name: m\n    keys: {mode: public, list: [a, b]}\n    filter: k == \"a\"\n    window: {size: 1h}\n    target: {relative: 0.1, absolute: 50}\n    last_at_least: 24\n": {Relative: 0.05, Absolute: 50},
		"  - name: m\n    kind: sum\n    keys: {mode: public, list: [a]}\n    window: {size: 1h}\n    bounds: {max: 5}\n    last_at_least: 24\n":                                  {Min: -3, Max: 700},
	} {
		read := func(metrics string) *deployment.Deployment {
			file, err := config.Parse("t.yaml", []byte(head+metrics), config.Environment{})
			if err != nil {
				t.Fatal(err)
			}
			if err := file.Resolve(config.Options{MissingKeys: true}); err != nil {
				t.Fatal(err)
			}
			d, err := file.Compile()
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		s.Window, s.KeysPerUser, s.EventsPerKey, s.LastAtLeast, s.Epsilon = 6*time.Hour, 3, 2, 10, 1
		before := read(base)
		want, err := OfMetric(before.Config, "m")(s)
		if err != nil {
			t.Fatal(err)
		}
		terms := Terms{Metric: "m", Kind: before.Config.Metrics[0].Kind, File: []byte(head + base)}
		block := terms.yaml(&Point{Setting: s})
		if diff := cmp.Diff(want.Metrics[0].Spec, read(block).Metrics[0].Spec, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("%s%s", block, diff)
		}
	}
}
