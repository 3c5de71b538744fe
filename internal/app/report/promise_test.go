package report

import (
	"cmp"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Readers of a page with private keys, of this or of an earlier configuration,
// are told that their values may be too high.
func TestRuleThePageSaysTheBiasOfPrivateKeys(t *testing.T) {
	for name, test := range map[string]struct {
		sample sample
		want   bool
	}{
		"private keys":   {mixed(), true},
		"public keys":    {pages(), false},
		"not configured": {hostile(), true}, // has values of a metric that is no longer configured
		"nothing is out": {sample{promise: mixed().promise}, true},
	} {
		html := render(t, test.sample, MaxPoints, written)
		_, how, _ := strings.Cut(html, "How to read it")
		if got := strings.Contains(how, "too high on average"); got != test.want {
			t.Errorf("%s: the page says it: %t, want %t", name, got, test.want)
		}
	}
}

// The target of a quantile is an error of its rank, and is met where there are enough events: the
// page does not show it as an error of a count.
func TestThePageSaysWhatIsAskedOfQuantiles(t *testing.T) {
	d, err := compiled(pipeline.Metric{
		Name: "latency", Kind: "quantiles", Window: time.Hour, Keys: pipeline.Keys{Mode: pipeline.KeysPrivate},
		Statistics: pipeline.Statistics{Ranks: []float64{0.5, 0.99}},
		Max:        1000, Target: noisereduction.Target{Absolute: 0.02, Confidence: 0.95}, Noise: 500,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := promiseOf(d)
	if asked := p.metrics[0].wanted(); !strings.HasSuffix(asked, "% (needed for the target of its quantiles)") {
		t.Errorf("target of the number of events: %q", asked)
	}
	if keys := p.metrics[0].keys(); !regexp.MustCompile(`^private: a key is released only at about [0-9,]+ ` +
		`events or more`).MatchString(keys) {
		t.Errorf("keys: %q", keys) // not from a value: that is a quantile, or a mean
	}
	from := ""
	for i, want := range []string{"± ", "a value between the quantiles of 48% and 52%",
		"a value between the quantiles of 97% and 100%"} {
		m := dataOf(&series{}, p.metrics[i], sizing{}, summary{})
		asked, reached, _ := strings.Cut(m.TargetText, "; ")
		if from = cmp.Or(from, reached); !strings.HasPrefix(asked, "Target: "+want) || reached != from ||
			!strings.HasPrefix(reached, "values of about ") || !strings.HasSuffix(reached, " events or more reach it") {
			t.Errorf("%s: %q, want %q, %q", p.metrics[i].Name, m.TargetText, want, from)
		}
	}
}
