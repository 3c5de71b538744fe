package config

import (
	"errors"
	"testing"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Every field of the pipeline has a position in the file.
func TestFieldsOfThePipelineAreFoundInTheFile(t *testing.T) {
	for field, want := range map[string]string{
		"Kafka.Brokers":             "kafka.brokers",
		"Kafka.Brokers[2]":          "kafka.brokers[2]",
		"Metrics":                   "metrics",
		"Metrics[1]":                "metrics[1]",
		"Metrics[1].MaxKeysPerUser": "metrics[1].bounds.max_keys_per_user",
		"Metrics[1].Window":         "metrics[1].window.size",
		"Metrics[1].Keys":           "metrics[1].keys",
		"Metrics[1].Keys.List[3]":   "metrics[1].keys.list",
		"Metrics[1].Noise":          "metrics[1].target.noise",
		"Metrics[0].Ladder.New":     "metrics[0].ladder",
		"Events.Format.User":        "events.fields.user",
		"Events.Format.New":         "events",
		"Keys.Noise.Secret":         "keys.noise",
		"Privacy":                   "privacy",
	} {
		if got := pathOf(field); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
	f, err := Load("testdata/small.good.yml", Options{}, Environment{})
	if err != nil {
		t.Fatal(err)
	}
	var all Errors
	if err := f.Locate(deployment.Invalid("Metrics[0].Ladder.Factor", "no")); !errors.As(err, &all) ||
		all[0].Line != 13 {
		t.Errorf("a field that is not there is shown at %v", err)
	}
	if err := errors.New("other"); f.Locate(err) != err {
		t.Error("another error is changed")
	}
}
