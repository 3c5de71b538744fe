package deployment

import (
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// If a name in also is refused, the error says what was probably meant, in the words of the
// configuration.
func TestARefusedStatisticNamesWhatWasMeant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, name, want string
	}{
		{metrickind.Mean, "std", "did you mean standard_deviation?"},
		{metrickind.Mean, "STDDEV", "did you mean standard_deviation?"},
		{metrickind.Mean, "varience", "did you mean variance?"},
		{metrickind.Quantiles, "average", "did you mean mean?"},
		{metrickind.Mean, "count", "did you mean events?"},
		{metrickind.Quantiles, "count", "the number of events is released anyway"},
		{metrickind.StandardDeviation, "sd", "sd is released anyway"},
		{metrickind.Mean, "p99", "give kind: quantiles with ranks: [0.99]"},
		{metrickind.Quantiles, "P2.5", "give ranks: [0.025]"},
		{metrickind.Mean, "p0", `"p0": choose from events, variance, standard_deviation`},
		{metrickind.Mean, "skewness", `"skewness": choose from events, variance, standard_deviation`},
		{metrickind.Mean, "", "a name is empty"},
	} {
		m := Metric{Name: "m", Kind: c.kind}
		m.Also = []string{c.name}
		if err := m.checkAlso(metrickind.Of(c.kind)); err == nil || !strings.Contains(err.Error(), "metrics.m.also") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q beside %s: %v, want %q", c.name, c.kind, err, c.want)
		}
	}
}
