package commands

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// edit changes a configuration file.
func edit(t *testing.T, file string, change ...string) {
	t.Helper()
	text := must.Have(os.ReadFile(file))
	must.Succeed(t, os.WriteFile(file, []byte(strings.NewReplacer(change...).Replace(string(text))), 0o600))
}

// The way of a change, as an operator types it: bounds, and a new noise key.
func TestADeploymentIsChangedAndItsKeyRotated(t *testing.T) {
	t.Parallel()
	long.Test(t)
	cfg := commandtest.DeploymentFile(t, commandtest.Broker(t))
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "2", "--start",
		"2025-03-01T00:00:00Z")
	mustRun(t, "replay", "--config", cfg, "--input", visits(t, true), "--header")
	mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "1m")

	if stdout, _ := mustRun(t, "change", "--config", cfg, "--by", "Ada", "--why", "a test"); stdout != "nothing to "+
		"change: this configuration is already in force\n" {
		t.Errorf("without a change: %s", stdout)
	}
	edit(t, cfg, "absolute: 30", "absolute: 40", "noise: {file: secrets/noise.key}",
		"noise: {id: spring, file: secrets/spring.key}")
	if code, _, stderr := tollgate(t, "run", "--config", cfg, "--until-end"); code != command.ExitConfig ||
		!strings.Contains(stderr, "spring.key") {
		t.Errorf("run without the key: exit %d, %s", code, stderr)
	}
	spring := filepath.Join(filepath.Dir(cfg), "secrets", "spring.key")
	must.Succeed(t, os.WriteFile(spring, []byte(strings.Repeat("5a", 32)), 0o600))
	if code, _, stderr := tollgate(t, "run", "--config", cfg, "--until-end"); code != command.ExitConfig ||
		!strings.Contains(stderr, "tollgate change") {
		t.Errorf("run before the change: exit %d, %s", code, stderr)
	}
	stdout, _ := mustRun(t, "change", "--config", cfg, "--dry-run")
	for _, want := range []string{"would be in force", "the metric views\n    target.absolute: 30 → 40\n",
		"the noise key\n    keys.noise.id: 1 → spring\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the dry run does not say %q: %s", want, stdout)
		}
	}
	stdout, _ = mustRun(t, "change", "--config", cfg, "--by", "Ada", "--why", "a test", "--format", "json")
	var got pipeline.ChangeResult
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Generation != 2 || got.RetiredKey != "1" ||
		got.FromTurn != 5 {
		t.Errorf("the change says %s (%v)", stdout, err)
	}
	if stdout, _ := mustRun(t, "promise", "--config", cfg); !strings.Contains(stdout, " by Ada: a test\n") ||
		strings.Count(stdout, "digest ") != 2 {
		t.Errorf("the promise: %s", stdout)
	}
	must.Succeed(t, os.Remove(filepath.Join(filepath.Dir(cfg), "secrets", "noise.key")))
	mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "1m")

	private := "\n  - {name: pages, window: {size: 1d}, bounds: {max_keys_per_user: 1}, target: {absolute: 30}}\nkeys:"
	edit(t, cfg, "\nkeys:", private)
	code, _, stderr := tollgate(t, "change", "--config", cfg, "--dry-run")
	if code == command.ExitOK || !strings.Contains(stderr, "delta_keys cannot be changed (privacy.delta_keys: in "+
		"force 0, configured 1e-07): it would be 1e-07, but the deployment has reserved nothing") {
		t.Errorf("private keys without a reserve: exit %d, %s", code, stderr)
	}
	edit(t, cfg, private, "\nkeys:", "epsilon: 4", "epsilon: 9")
	if code, _, stderr := tollgate(t, "change", "--config", cfg, "--by", "Ada", "--why", "a test"); code ==
		command.ExitOK || !strings.Contains(stderr, "never weaker") {
		t.Errorf("a weaker promise: exit %d, %s", code, stderr)
	}
}

func TestRecoverNeedsAStop(t *testing.T) {
	t.Parallel()
	long.Test(t)
	cfg := commandtest.DeploymentFile(t, commandtest.Broker(t))
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1")
	if code, _, stderr := tollgate(t, "recover", "--config", cfg, "--by", "Ada"); code != command.ExitError ||
		!strings.Contains(stderr, "nothing to recover from") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if code, _, _ := tollgate(t, "recover", "--config", cfg); code != command.ExitUsage {
		t.Errorf("without --by: exit %d", code)
	}
}

// validate says what a run would refuse: what can never be is an error, what a
// change could put in force is told.
func TestValidateComparesWithTheDeployment(t *testing.T) {
	t.Parallel()
	long.Test(t)
	cfg := commandtest.DeploymentFile(t, commandtest.Broker(t))
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1")
	if _, stderr := mustRun(t, "validate", "--config", cfg); strings.Contains(stderr, "in force") {
		t.Errorf("nothing to change, and validate says: %s", stderr)
	}
	key := filepath.Join(filepath.Dir(cfg), "secrets", "noise.key")
	must.Succeed(t, os.Rename(key, key+".copy"))
	code, _, stderr := tollgate(t, "validate", "--config", cfg)
	if code != command.ExitConfig || strings.Contains(stderr, "fingerprint") || !strings.Contains(stderr,
		"has begun, but there is no key in "+key+": restore the backup") {
		t.Errorf("the noise key is missing: exit %d, %s", code, stderr)
	}
	must.Succeed(t, os.Rename(key+".copy", key))
	edit(t, cfg, "\nkeys:", "\nledger_slots: 128\nkeys:")
	if _, stderr := mustRun(t, "validate", "--config", cfg); !strings.Contains(stderr,
		"the configuration is not the one in force, so a run refuses it") || !strings.Contains(stderr,
		"tollgate change") {
		t.Errorf("a difference that can be changed: %s", stderr)
	}
	edit(t, cfg, "epsilon: 4", "epsilon: 9")
	if code, _, stderr := tollgate(t, "validate", "--config", cfg); code != command.ExitConfig ||
		!strings.Contains(stderr, "never weaker") {
		t.Errorf("a weaker promise: exit %d, %s", code, stderr)
	}
}

// A change that can never be does not make the topics that it names.
func TestARefusedChangeLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	cfg := commandtest.DeploymentFile(t, commandtest.Broker(t))
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1")
	edit(t, cfg, "epsilon: 4", "epsilon: 9", "\nkeys:", "\noutputs: {ledger: other-ledger}\nkeys:", "shards: 4",
		"shards: 3", "noise: {file: secrets/noise.key}", "noise: {id: spring, file: secrets/spring.key}")
	code, _, stderr := tollgate(t, "change", "--config", cfg, "--generate-keys", "--create-topics", "--by", "Ada",
		"--why", "a test")
	if code != command.ExitConfig || !strings.Contains(stderr, "never weaker") || strings.Contains(stderr,
		"made topic") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}
