package commands

import (
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// Every command that looks at the topics warns of data that one broker can lose, in one line if
// there is only one broker. With --strict it refuses such topics, like a wrong configuration.
func TestRuleEveryLookAtTheTopicsSaysWhatOneBrokerCanLose(t *testing.T) {
	t.Parallel()
	cfg := commandtest.DeploymentFile(t, commandtest.Broker(t))
	initialise := []string{"init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1"}
	code, _, stderr := tollgate(t, append(initialise, "--strict")...)
	if code != command.ExitConfig || !strings.Contains(stderr, "topic shop-ledger: replication factor is 1, but must "+
		"be 3: its records are lost if its only broker loses them: three replicas need three brokers, but the cluster "+
		"has one broker: add brokers first; then kafka-reassign-partitions.sh") {
		t.Errorf("init --strict: exit %d, stderr %s", code, stderr)
	}
	const line = "the cluster has one broker"
	if _, stderr = mustRun(t, initialise...); strings.Count(stderr, line) != 1 {
		t.Errorf("init: stderr %s", stderr)
	}
	if _, stderr = mustRun(t, "validate", "--config", cfg); strings.Count(stderr, line) != 1 {
		t.Errorf("validate: stderr %s", stderr)
	}
	for _, line := range [][]string{{"validate", "--config", cfg, "--strict"}, {"run", "--config", cfg, "--strict",
		"--until-end"}} {
		code, _, stderr = tollgate(t, line...)
		if code != command.ExitConfig || !strings.Contains(stderr, "topic shop-control: replication factor is 1, but "+
			"must be 3") {
			t.Errorf("%s: exit %d, stderr %s", strings.Join(line, " "), code, stderr)
		}
	}
	if !long.On() {
		return // the rest runs pipelines
	}
	if _, stderr = mustRun(t, "run", "--config", cfg, "--until-end"); strings.Count(stderr, line) != 1 {
		t.Errorf("run: stderr %s", stderr)
	}
	if _, stderr = mustRun(t, "demo", "--events", "1000", "--windows", "2", "--epsilon",
		"1000"); strings.Contains(stderr, line) {
		t.Errorf("demo: stderr %s", stderr)
	}
}
