package config

import (
	"errors"
	"testing"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// Whatever name the pipeline has for a field, its position in the file is found.
func TestFieldsOfThePipelineAreFoundInTheFile(t *testing.T) {
	f, err := Load("testdata/small.good.yml", Options{}, Environment{})
	if err != nil {
		t.Fatal(err)
	}
	two := pipeline.Metric{Name: "visits.daily", Filter: "a"}
	f.config.Metrics = append(f.config.Metrics, two, pipeline.Metric{Name: "z", Filter: "b"})
	for named, want := range map[string]string{
		"kafka.brokers":                       "kafka.brokers",
		"metrics":                             "metrics",
		"metrics.share":                       "metrics.share",
		"metrics.visits":                      "metrics[0]",
		"metrics.visits.max_keys_per_user":    "metrics[0].bounds.max_keys_per_user",
		"metrics.visits.window":               "metrics[0].window.size",
		"metrics.visits.slide":                "metrics[0].window.slide",
		"metrics.visits.keys.from":            "metrics[0].keys.keys_from",
		"metrics.visits.ladder.factor":        "metrics[0].ladder.factor",
		"metrics.visits.daily.min":            "metrics[1].bounds.min",
		"metrics.visits.daily":                "metrics[1]",
		"metrics.nowhere.kind":                "metrics.nowhere.kind",
		"events.format.user":                  "events.fields.user",
		"events.value":                        "events.fields.value",
		"events.columns":                      "events.columns",
		"events.filters[1]":                   "metrics[2].filter",
		"events.format.time_unit":             "events.time_unit",
		"events.format.filters[1]":            "metrics[2].filter",
		"events.format.filters[0]":            "metrics[1].filter",
		"keys.noise":                          "keys.noise",
		"privacy":                             "privacy",
		"metrics.visits.counted.target":       "metrics[0].counted.target",
		"metrics.visits.target.relative":      "metrics[0].target.relative",
		"metrics.visits.max_events_per_key":   "metrics[0].bounds.max_events_per_key",
		"metrics.visits.keys":                 "metrics[0].keys",
		"events.format.columns":               "events.columns",
		"events.registry.url":                 "events.registry.url",
		"metrics.visits.ladder.something_new": "metrics[0].ladder.something_new",
	} {
		if got := f.pathOf(named); got != want {
			t.Errorf("%s is %s, want %s", named, got, want)
		}
	}
	var all Errors
	if err := f.Locate(&pipeline.ConfigError{Field: "metrics.visits.ladder.factor", Reason: "no"}); !errors.As(err, &all) || all[0].Line != 13 {
		t.Errorf("a field that is not there is shown at %v", err)
	}
	if err := errors.New("other"); f.Locate(err) != err {
		t.Error("another error is changed")
	}
}
