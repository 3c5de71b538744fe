package advice

import (
	"strings"
	"testing"
	"time"

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
