package demo

import (
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// Each way to lose most records is named by its figures, and none is where enough is released.
func TestCausesAreThoseThatTookARecordInTen(t *testing.T) {
	source := &Generated{}
	for name, c := range map[string]struct {
		tallies  pipeline.Tallies
		metric   pipeline.MetricTallies
		released int
		want     []string
	}{
		"no records":  {pipeline.Tallies{}, pipeline.MetricTallies{}, 0, []string{"the input has no records"}},
		"all is well": {pipeline.Tallies{Read: 100, Accepted: 100}, pipeline.MetricTallies{Counted: 100}, 9, nil},
		"before": {pipeline.Tallies{Read: 100, BeforeStart: 60, Accepted: 40},
			pipeline.MetricTallies{Counted: 40}, 9, []string{"60 of 100 records (60 %) are before --from"}},
		"after": {pipeline.Tallies{Read: 100, Accepted: 100}, pipeline.MetricTallies{Open: 60, Counted: 40}, 9,
			[]string{"60 of 100 records (60 %) are not before --to"}},
		"unlisted": {pipeline.Tallies{Read: 100, Accepted: 100}, pipeline.MetricTallies{Filtered: 60, Counted: 40},
			9, []string{"60 of 100 records (60 %) have a key that"}},
		"beyond": {pipeline.Tallies{Read: 100, Accepted: 100}, pipeline.MetricTallies{Beyond: 95, Counted: 5}, 0,
			[]string{"95 of 100 records (95 %) are beyond the allowances"}},
		"few beyond": {pipeline.Tallies{Read: 100, Accepted: 100}, pipeline.MetricTallies{Beyond: 20, Counted: 80}, 0,
			nil},
		"most first": {pipeline.Tallies{Read: 100, BeforeStart: 15, Accepted: 85},
			pipeline.MetricTallies{Filtered: 70, Open: 5}, 9, []string{"70 of 100", "15 of 100"}},
		"one in ten": {pipeline.Tallies{Read: 100, BeforeStart: 9, Accepted: 91}, pipeline.MetricTallies{Counted: 91},
			0, nil},
		"and not more": {pipeline.Tallies{Read: 100, BeforeStart: 20, Accepted: 80},
			pipeline.MetricTallies{Filtered: 20, Open: 20, Beyond: 20}, 0, []string{"20 of 100", "20 of 100",
				"20 of 100"}},
	} {
		c.tallies.Metrics = []pipeline.MetricTallies{c.metric}
		got := Causes(Settings{}, source, Result{Tallies: c.tallies}, c.released)
		same := slices.EqualFunc(got, c.want, strings.HasPrefix)
		if !same {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
