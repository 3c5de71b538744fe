package report

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
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

// The page says how long the budget lasts in truth, where ladder.sigma makes a
// window cost more than last_at_least leaves.
func TestRuleThePageSaysWhatTheBudgetPays(t *testing.T) {
	views := pipeline.Metric{
		Name: "views", Window: time.Hour, Keys: pipeline.Keys{Mode: pipeline.KeysPublic, List: []string{"a"}},
		Target: noisereduction.Target{Relative: 0.1, Confidence: 0.95}, Ladder: pipeline.Ladder{Sigma: 40}, LastAtLeast: 100_000,
	}
	other, never := views, views
	other.Name = "other"
	never.MaxEventsPerKey = 10
	for want, metrics := range map[string][]pipeline.Metric{
		"every user can take part in at least 89 windows</bdi>":                                        {views},
		"every user can take part in up to 89 windows, as far as the other metrics leave budget</bdi>": {views, other},
		"not enough for one window of a user who contributes as much as the bounds allow</bdi>":        {never},
	} {
		d, err := compiled(metrics...)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := writePage(&b, d, slices.Values([]schemas.Release{}), written); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), want); got != len(d.Metrics) {
			t.Errorf("%q is %d times on the page, want %d", want, got, len(d.Metrics))
		}
	}
}

// The target of a quantile is an error of its rank, and is met where there are enough events: the
// page does not show it as an error of a count.
func TestThePageSaysWhatIsAskedOfQuantiles(t *testing.T) {
	d, err := compiled(pipeline.Metric{
		Name: "latency", Kind: "quantiles", Window: time.Hour, Keys: pipeline.Keys{Mode: pipeline.KeysPrivate}, Statistics: pipeline.Statistics{Ranks: []float64{0.5, 0.99}},
		Max: 1000, Target: noisereduction.Target{Absolute: 0.02, Confidence: 0.95}, LastAtLeast: 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := promiseOf(d)
	if asked := p.metrics[0].wanted(); !strings.HasSuffix(asked, " %, which the target of its quantiles needs,") {
		t.Errorf("of the number of events, %q is asked for", asked)
	}
	if keys := p.metrics[0].keys(); !regexp.MustCompile(`^private: a key is released from about [0-9,]+ events on`).MatchString(keys) {
		t.Errorf("keys: %q", keys) // not from a value: that is a quantile, or a mean
	}
	from := ""
	for i, want := range []string{"± ", "A value between the quantiles of 48 % and 52 %", "A value between the quantiles of 97 % and 100 %"} {
		m := dataOf(&series{}, p.metrics[i], sizing{}, summary{})
		asked, reached, _ := strings.Cut(m.Asked, " is asked for: ")
		if from = cmp.Or(from, reached); !strings.HasPrefix(asked, want) || reached != from || !strings.HasPrefix(reached, "it is reached from about ") || !strings.HasSuffix(reached, " events on") {
			t.Errorf("%s: %q, want %q, %q", p.metrics[i].Name, m.Asked, want, from)
		}
	}
}
