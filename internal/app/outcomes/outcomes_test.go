package outcomes

import (
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/pipeline"
)

func metric(name string, filtered, beyond, counted, open uint64) pipeline.MetricTallies {
	return pipeline.MetricTallies{Metric: name, Filtered: filtered, Beyond: beyond, Counted: counted, Open: open}
}

func accepted(n uint64, metrics ...pipeline.MetricTallies) pipeline.Tallies {
	return pipeline.Tallies{Read: n, Accepted: n, Metrics: metrics}
}

func TestTheTableShowsEveryFateThatARecordMet(t *testing.T) {
	one := pipeline.Tallies{Read: 100_000, DeadLettered: map[string]uint64{"undecodable": 3, "bad_timestamp": 1200},
		Late: 7, Future: 1,
		Accepted: 98_789, Metrics: []pipeline.MetricTallies{metric("events", 0, 91009, 7780, 0)}}
	two := pipeline.Tallies{Read: 30, BeforeStart: 10, Accepted: 20, Metrics: []pipeline.MetricTallies{
		metric("views", 2, 0, 8, 10), metric("sliding", 0, 30, 30, 0), {Metric: "statistic"},
	}}
	golden.File(t, "testdata/tables.golden", Table(one)+"\n"+Table(two)+"\n"+Table(pipeline.Tallies{}))
}

func TestMostIsMoreThanHalf(t *testing.T) {
	for name, c := range map[string]struct {
		before, now pipeline.Tallies
		want        bool
	}{
		"nothing":              {},
		"all is counted":       {now: accepted(10, metric("m", 0, 0, 10, 0))},
		"half is beyond":       {now: accepted(10, metric("m", 0, 5, 5, 0))},
		"more than half":       {now: accepted(10, metric("m", 0, 6, 4, 0)), want: true},
		"filtered is not lost": {now: accepted(10, metric("m", 9, 1, 0, 0))},
		"open is not lost":     {now: accepted(10, metric("m", 0, 4, 1, 5))},
		"broken": {now: pipeline.Tallies{Read: 3, DeadLettered: map[string]uint64{"undecodable": 2},
			Accepted: 1}, want: true},
		"late, future, overtaken": {now: pipeline.Tallies{Read: 7, Late: 1, Future: 1, Overtaken: 1, BeforeStart: 1,
			Accepted: 3}, want: true},
		"sums of both": {now: pipeline.Tallies{Read: 10, Late: 3, Accepted: 7,
			Metrics: []pipeline.MetricTallies{metric("m", 0, 3, 4, 0)}}, want: true},
		"sliding windows":         {now: accepted(10, metric("m", 0, 40, 60, 0))},
		"one metric of two loses": {now: accepted(10, metric("m", 0, 10, 0, 0), metric("n", 0, 0, 10, 0))},
		"both lose":               {now: accepted(10, metric("m", 0, 6, 4, 0), metric("n", 0, 6, 4, 0)), want: true},
		"a rare metric": {now: accepted(100, metric("m", 0, 90, 10, 0), metric("n", 99, 0, 1, 0)),
			want: true},
		"statistic beside it": {now: accepted(10, metric("m", 0, 6, 4, 0), pipeline.MetricTallies{Metric: "c"}),
			want: true},
		// Records that an earlier run has lost or counted have no influence.
		"lost before": {before: pipeline.Tallies{Read: 100, Late: 100}, now: pipeline.Tallies{Read: 110, Late: 100,
			Accepted: 10,
			Metrics:  []pipeline.MetricTallies{metric("m", 0, 0, 10, 0)}}},
		"counted before": {before: accepted(100, metric("m", 0, 0, 100, 0)), now: accepted(110, metric("m", 0, 9, 101,
			0)), want: true},
		"open before": {before: accepted(100, metric("m", 0, 0, 0, 100)), now: accepted(100, metric("m", 0, 90, 10,
			0)), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Lost(c.before, c.now); got.Most() != c.want {
				t.Errorf("%+v: most is %v", got, got.Most())
			}
		})
	}
}
