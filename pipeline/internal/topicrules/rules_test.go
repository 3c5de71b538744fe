package topicrules

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// The settings that a broker leaves out are Kafka's defaults.
func TestAbsentSettingsAreKafkasDefaults(t *testing.T) {
	d := must.Have(deployment.Compile(deploytest.Config("127.0.0.1:1")))
	for _, rules := range rulesOfTopics(d) {
		state := &state{name: rules.topic, broker: "b:1", partitions: map[string]int{"tollgate-ledger": 4}[rules.topic],
			settings: map[string]string{}}
		state.partitions = max(state.partitions, 1)
		for _, rule := range rules.rules {
			rule(state)
		}
		// a week's retention; not compacted
		want := map[string]int{"tollgate-control": 1, "tollgate-ledger": 1}[rules.topic]
		if len(state.faults) != want || len(state.warnings) != 0 {
			t.Errorf("%s: %v, %v", rules.topic, errors.Join(state.faults...), state.warnings)
		}
	}
	none := &state{settings: map[string]string{CleanupPolicy: ""}}
	keptForEver(none)
	retentionRule(time.Hour)(none)
	if len(none.faults) != 0 {
		t.Errorf("a topic that is never cleaned up: %v", none.faults)
	}
	onlyCompacted(none)
	if len(none.faults) != 1 || !strings.Contains(none.faults[0].Error(), "cleanup.policy is empty") {
		t.Errorf("a ledger that is never cleaned up: %v", none.faults)
	}
}

func TestTheShortestSlideDecidesHowLongEventsAreNeeded(t *testing.T) {
	cfg := deploytest.Config("127.0.0.1:1")
	cfg.Time = deployment.Time{Lateness: time.Hour, Skew: time.Minute, Slack: 5 * time.Second, IdleGrace: time.Minute}
	day, often := cfg.Metrics[0], cfg.Metrics[0]
	day.Name, day.Window = "day", 24*time.Hour
	often.Name, often.Window, often.Slide = "often", 6*time.Hour, 2*time.Hour
	cfg.Metrics = []deployment.Metric{day, often}
	d := must.Have(deployment.Compile(cfg))
	if got, want := neededRetention(d), 3*(3*time.Hour+2*time.Minute+5*time.Second); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
