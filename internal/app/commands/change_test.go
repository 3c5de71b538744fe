package commands

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// edit changes a configuration file.
func edit(t *testing.T, file string, change ...string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.NewReplacer(change...).Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The way of a change, as an operator types it: bounds, and a new noise key.
func TestADeploymentIsChangedAndItsKeyRotated(t *testing.T) {
	t.Parallel()
	long.Test(t)
	cfg := deploymentFile(t, broker(t))
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "2", "--start", "2025-03-01T00:00:00Z")
	mustRun(t, "replay", "--config", cfg, "--input", visits(t, true), "--header")
	mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "1m")

	if stdout, _ := mustRun(t, "change", "--config", cfg); stdout != "nothing to change: this configuration is in force already\n" {
		t.Errorf("without a change: %s", stdout)
	}
	edit(t, cfg, "absolute: 30", "absolute: 40", "noise: {file: secrets/noise.key}", "noise: {id: spring, file: secrets/spring.key}")
	if code, _, stderr := run(t, "run", "--config", cfg, "--until-end"); code != exitConfig || !strings.Contains(stderr, "spring.key") {
		t.Errorf("run without the key: exit %d, %s", code, stderr)
	}
	spring := filepath.Join(filepath.Dir(cfg), "secrets", "spring.key")
	if err := os.WriteFile(spring, []byte(strings.Repeat("5a", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(t, "run", "--config", cfg, "--until-end"); code != exitConfig || !strings.Contains(stderr, "tollgate change") {
		t.Errorf("run before the change: exit %d, %s", code, stderr)
	}
	stdout, _ := mustRun(t, "change", "--config", cfg, "--dry-run")
	for _, want := range []string{"would be in force", "the metric views\n    target.absolute: 30 → 40\n", "the noise key\n    keys.noise.id: 1 → spring\n", "open windows go on: views\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the dry run does not say %q: %s", want, stdout)
		}
	}
	stdout, _ = mustRun(t, "change", "--config", cfg, "--format", "json")
	var got changed
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Generation != 2 || got.RetiredKey != "1" || got.DryRun || got.FromTurn != 5 {
		t.Errorf("the change says %s (%v)", stdout, err)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(cfg), "secrets", "noise.key")); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "1m")

	private := "\n  - {name: pages, window: {size: 1d}, bounds: {max_keys_per_user: 1}, target: {absolute: 30}, last_at_least: 4}\nkeys:"
	edit(t, cfg, "\nkeys:", private)
	code, _, stderr := run(t, "change", "--config", cfg, "--dry-run")
	if code == exitOK || !strings.Contains(stderr, "delta_keys cannot be changed (privacy.delta_keys: in force 0, configured 1e-07): it would be 1e-07 and the deployment has reserved nothing") {
		t.Errorf("private keys without a reserve: exit %d, %s", code, stderr)
	}
	edit(t, cfg, private, "\nkeys:", "epsilon: 4", "epsilon: 9")
	if code, _, stderr := run(t, "change", "--config", cfg); code == exitOK || !strings.Contains(stderr, "never weaker") {
		t.Errorf("a weaker promise: exit %d, %s", code, stderr)
	}
}

// A dry run names the turn over which the change would be refused.
func TestADryRunNamesATurnUnderWay(t *testing.T) {
	t.Parallel()
	for turn, says := range map[uint64]bool{0: false, 7: true} {
		c := changed{Changes: []difference{{What: "the noise key"}}, From: &time.Time{}, DryRun: true, UnderWay: turn}
		if text := c.text("shop.yaml", nil); strings.Contains(text, "turn 7 is under way and may be published in part. change refuses to go over it") != says {
			t.Errorf("turn %d: %s", turn, text)
		}
	}
}

func TestRecoverNeedsAStop(t *testing.T) {
	t.Parallel()
	long.Test(t)
	cfg := deploymentFile(t, broker(t))
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1")
	if code, _, stderr := run(t, "recover", "--config", cfg, "--by", "Ada"); code != exitError || !strings.Contains(stderr, "nothing to recover from") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if code, _, _ := run(t, "recover", "--config", cfg); code != exitUsage {
		t.Errorf("without --by: exit %d", code)
	}
}

// validate says what a run would refuse: what can never be is an error, what a
// change could put in force is told.
func TestValidateComparesWithTheDeployment(t *testing.T) {
	t.Parallel()
	long.Test(t)
	cfg := deploymentFile(t, broker(t))
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1")
	if _, stderr := mustRun(t, "validate", "--config", cfg); strings.Contains(stderr, "in force") {
		t.Errorf("nothing to change, and validate says: %s", stderr)
	}
	key := filepath.Join(filepath.Dir(cfg), "secrets", "noise.key")
	if err := os.Rename(key, key+".copy"); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := run(t, "validate", "--config", cfg)
	if code != exitConfig || strings.Contains(stderr, "fingerprint") || !strings.Contains(stderr, "has begun, but there is no key in "+key+": put the copy") {
		t.Errorf("the noise key is missing: exit %d, %s", code, stderr)
	}
	if err := os.Rename(key+".copy", key); err != nil {
		t.Fatal(err)
	}
	edit(t, cfg, "\nkeys:", "\nledger_slots: 128\nkeys:")
	if _, stderr := mustRun(t, "validate", "--config", cfg); !strings.Contains(stderr, "the configuration is not the one in force, so a run refuses it") || !strings.Contains(stderr, "tollgate change") {
		t.Errorf("a difference that can be changed: %s", stderr)
	}
	edit(t, cfg, "epsilon: 4", "epsilon: 9")
	if code, _, stderr := run(t, "validate", "--config", cfg); code != exitConfig || !strings.Contains(stderr, "never weaker") {
		t.Errorf("a weaker promise: exit %d, %s", code, stderr)
	}
}

// A dry run says of every field what it was and would be, and what that does to accuracy and
// lifetime.
func TestADryRunSaysWhatAChangeDoes(t *testing.T) {
	t.Parallel()
	cfg := deploymentFile(t, broker(t))
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1")
	dry := func() (string, changed) {
		t.Helper()
		text, _ := mustRun(t, "change", "--config", cfg, "--dry-run")
		encoded, _ := mustRun(t, "change", "--config", cfg, "--dry-run", "--format", "json")
		var c changed
		if err := json.Unmarshal([]byte(encoded), &c); err != nil {
			t.Fatal(err)
		}
		return text, c
	}
	edit(t, cfg, "last_at_least: 4", "last_at_least: 16", "absolute: 30", "relative: 0.1", "[north, south, west]", "[east, north, south, west]")
	text, c := dry()
	for _, want := range []string{
		"target.absolute: 30 → 0", "target.relative: 0 → 0.1", "keys.list: 3 keys → 4 keys (1 added, 0 gone)", "σ of the top: ",
		"before  noise σ at least ", "target met by all counts, a whole budget pays for 4 windows", "target met by counts from ", "a whole budget pays for 16 windows",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the dry run does not say %q: %s", want, text)
		}
	}
	if len(c.Effects) != 1 || c.Effects[0].Metric != "views" || c.Effects[0].Was.Windows != 4 || c.Effects[0].Is.Windows != 16 {
		t.Fatalf("effects %+v", c.Effects)
	}
	was, is := c.Effects[0].Was, c.Effects[0].Is
	// Four times as many windows; with a relative target the ladder stops a little later.
	if ratio := is.Sigma / was.Sigma; ratio < 1.999 || ratio > 2.001 {
		t.Errorf("σ grows by %v", ratio)
	}
	if ratio := is.Within / was.Within; ratio < 1.999 || ratio > 2.1 {
		t.Errorf("± grows by %v", ratio)
	}
	edit(t, cfg, "last_at_least: 16", "last_at_least: 4", "relative: 0.1", "absolute: 30", "[east, north, south, west]", "[north, south, west]", "epsilon: 4", "epsilon: 2")
	if text, c = dry(); !strings.Contains(text, "privacy.epsilon: 4 → 2\n") || len(c.Changes) != 2 {
		t.Errorf("another budget: %s", text)
	}
	edit(t, cfg, "epsilon: 2", "epsilon: 4", "name: views", "name: visits")
	if text, c = dry(); len(c.Effects) != 2 || c.Effects[0].Is != nil || c.Effects[1].Was != nil {
		t.Errorf("another metric: %s", text)
	}
	edit(t, cfg, "name: visits", "name: views")
	const added = "\n  - {name: pages, window: {size: 1d}, keys: {list: [north]}, target: {absolute: 90}, last_at_least: 4}\nkeys:"
	edit(t, cfg, "\nkeys:", added)
	text, c = dry()
	if c.Changes[0].What != "the metric pages, which is new" || c.Effects[0].Is.Windows != 8 || c.Effects[0].Is.Lasts != 4 || c.Effects[0].Was.Lasts != 0 {
		t.Errorf("a metric more: %+v", c)
	}
	for _, want := range []string{"a whole budget pays for 4 windows\n", "every user can take part in 4 windows, a whole budget pays for 8 windows if a user contributes to no other metric\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("with a metric more the dry run does not say %q: %s", want, text)
		}
	}
	if _, stderr := mustRun(t, "validate", "--config", cfg); !strings.Contains(stderr, "the metric pages, which is new: the configuration does not match the deployment; undo that in the configuration") {
		t.Errorf("validate with a metric more: %s", stderr)
	}
	edit(t, cfg, added, "\nkeys:")
	edit(t, cfg, "idle_grace: 1s", "idle_grace: 1s, lateness: 1m", "\nkeys:", "\nledger_slots: 128\nkeys:")
	if text, c = dry(); len(c.Effects) != 0 || !strings.Contains(text, "time.lateness: 0s → 1m0s") || !strings.Contains(text, "ledger_slots: 64 → 128") {
		t.Errorf("what no count depends on: %s", text)
	}
}

// A change that can never be does not make the topics that it names.
func TestARefusedChangeLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	cfg := deploymentFile(t, broker(t))
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1")
	edit(t, cfg, "epsilon: 4", "epsilon: 9", "\nkeys:", "\noutputs: {ledger: other-ledger}\nkeys:", "shards: 4", "shards: 3", "noise: {file: secrets/noise.key}", "noise: {id: spring, file: secrets/spring.key}")
	code, _, stderr := run(t, "change", "--config", cfg, "--generate-keys", "--create-topics")
	if code != exitConfig || !strings.Contains(stderr, "never weaker") || strings.Contains(stderr, "made topic") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}
