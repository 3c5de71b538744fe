package commands

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// records returns how many records partition 0 of a topic has had.
func records(t *testing.T, addr, topic string) int64 {
	t.Helper()
	c := must.Have(kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{addr}}))
	defer c.Close()
	bounds := must.Have(c.Offsets(t.Context(), topic, 0))
	return bounds.High
}

// An init of a deployment that has this configuration changes nothing, says so, and is no error;
// with another configuration it says every difference and what to do.
func TestInitCanBeRepeated(t *testing.T) {
	t.Parallel()
	addr := commandtest.Broker(t)
	cfg := commandtest.DeploymentFile(t, addr)
	again := []string{"init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1"}
	mustRun(t, append(again, "--start", "2025-03-01T12:00:00Z")...)
	stdout, _ := mustRun(t, append(again, "--start", "2025-06-01")...)
	for _, want := range []string{
		"shop is already initialised on topic shop-control, with this configuration; nothing was changed",
		"time begins at 2025-03-01T00:00:00Z",
		"--start 2025-06-01T00:00:00Z is ignored", "next: tollgate run --config " + cfg,
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the second init does not say %q: %s", want, stdout)
		}
	}
	if !regexp.MustCompile(`incarnation [0-9a-f]{32}, generation 1;`).MatchString(stdout) || strings.Contains(stdout,
		"differential privacy") {
		t.Errorf("the second init: %s", stdout)
	}
	if third, _ := mustRun(t, "init", "--config", cfg); third != strings.Replace(stdout,
		"--start 2025-06-01T00:00:00Z is ignored: the first init fixed where time begins\n", "", 1) {
		t.Errorf("the third init: %s", third)
	}
	if n := records(t, addr, "shop-control"); n != 1 {
		t.Errorf("control has %d records", n)
	}

	edit(t, cfg, "absolute: 30", "absolute: 40", "\nkeys:", "\nledger_slots: 128\nkeys:")
	code, stdout, stderr := tollgate(t, again...)
	for _, want := range []string{
		"with another configuration", "nothing was changed", "the metric views\n    target.absolute: 30 → 40\n",
		"ledger_slots: 64 → 128",
		"tollgate change --config " + cfg, "time begins at 2025-03-01T00:00:00Z",
	} {
		if code != command.ExitConfig || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("another configuration: exit %d, %q is not said: %s", code, want, stderr)
		}
	}
	edit(t, cfg, "shards: 4", "shards: 8", "epsilon: 4", "epsilon: 9")
	code, _, stderr = tollgate(t, again...)
	for _, want := range []string{"privacy.epsilon: 4 → 9\n    this cannot be changed: epsilon would rise",
		"shards: 4 → 8", "begin a new deployment"} {
		if code != command.ExitConfig || !strings.Contains(stderr, want) {
			t.Errorf("what can never change: exit %d, %q is not said: %s", code, want, stderr)
		}
	}
	if n := records(t, addr, "shop-control"); n != 1 {
		t.Errorf("control has %d records", n)
	}
}
