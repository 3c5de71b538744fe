package demo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/generate"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// unreadable returns the tallies of records of which none is an event.
func unreadable(classes map[string]uint64) pipeline.Tallies {
	t := pipeline.Tallies{DeadLettered: map[string]uint64{}, Metrics: []pipeline.MetricTallies{{Metric: MetricName}}}
	for class, n := range classes {
		t.DeadLettered[class] = n
		t.Read += n
	}
	return t
}

// ErrTallies is returned when records are unaccounted for: a fault of the
// program, never of the data.
var ErrTallies = errors.New("the tallies do not add up")

// CheckTallies reports a whole that is not the sum of its parts. The text names
// what differs, never how many.
func CheckTallies(t pipeline.Tallies) error {
	if t.Broken()+t.Skipped+t.BeforeStart+t.Late+t.Future+t.Overtaken+t.Accepted != t.Read {
		return fmt.Errorf("%w: records read", ErrTallies)
	}
	for _, m := range t.Metrics {
		if beside := strings.HasPrefix(m.Metric, MetricName+"."); !beside && m.Pairs() != t.Accepted {
			return fmt.Errorf("%w: records accepted, metric %s", ErrTallies, m.Metric)
		}
	}
	return nil
}

// CompareTallies reports where tallies differ from a known truth, for every outcome of a record
// and every class of dead letters. No record may be left open.
func CompareTallies(t pipeline.Tallies, truth generate.Truth) error {
	for _, part := range []struct {
		name      string
		got, want uint64
	}{
		{"records read", t.Read, truth.Read},
		{"records before the start", t.BeforeStart, truth.BeforeStart},
		{"late records", t.Late, truth.Late},
		{"records of the future", t.Future, truth.Future},
		{"overtaken records", t.Overtaken, 0},
		{"records accepted", t.Accepted, truth.Accepted},
	} {
		if part.got != part.want {
			return fmt.Errorf("%w: %s are not as many as were generated", ErrTallies, part.name)
		}
	}
	classes := slices.AppendSeq(slices.Collect(maps.Keys(truth.DeadLettered)), maps.Keys(t.DeadLettered))
	slices.Sort(classes)
	for _, class := range slices.Compact(classes) {
		if t.DeadLettered[class] != truth.DeadLettered[class] {
			return fmt.Errorf("%w: dead letters of class %s are not as many as were generated", ErrTallies, class)
		}
	}
	for _, m := range t.Metrics {
		if m.Open != 0 {
			return fmt.Errorf("%w: records are left open, metric %s", ErrTallies, m.Metric)
		}
	}
	return CheckTallies(t)
}
