package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// madeKeys puts two keys beside a configuration of deploymentFile, with a mode.
func madeKeys(t *testing.T, cfg string, mode os.FileMode) {
	t.Helper()
	dir := filepath.Join(filepath.Dir(cfg), "secrets")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, digits := range map[string]string{"noise.key": "5a", "user-hash.key": "a5"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Repeat(digits, 32)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask says
			t.Fatal(err)
		}
	}
}

// Every command that reads the keys says which of them others can read, and what to do; --strict
// refuses.
func TestSecretsThatOthersCanReadAreTold(t *testing.T) {
	t.Parallel()
	addr := broker(t)
	cfg := deploymentFile(t, addr)
	for mode, who := range map[os.FileMode]string{0o644: "other users of this machine (mode 0644)", 0o640: "its group (mode 0640)"} {
		madeKeys(t, cfg, mode)
		_, stderr := mustRun(t, "validate", "--offline", "--config", cfg)
		for _, want := range []string{"warning: " + cfg + ":19:17: keys.noise.file:", "keys.user_hash.file:", who, "chmod 600 "} {
			if !strings.Contains(stderr, want) {
				t.Errorf("%v: validate does not say %q: %s", mode, want, stderr)
			}
		}
		for _, command := range []string{"validate", "init", "run"} {
			code, _, stderr := run(t, command, "--strict", "--config", cfg)
			if code != exitConfig || !strings.Contains(stderr, "keys.user_hash.file") || !strings.Contains(stderr, "--strict") {
				t.Errorf("%s --strict: exit %d, %s", command, code, stderr)
			}
		}
	}
	_, stderr := mustRun(t, "init", "--create-topics", "--event-partitions", "1", "--config", cfg)
	if strings.Count(stderr, "chmod 600") != 2 {
		t.Errorf("init: %s", stderr)
	}
	madeKeys(t, cfg, 0o600)
	if _, stderr := mustRun(t, "validate", "--config", cfg); strings.Contains(stderr, "chmod") {
		t.Errorf("keys of the owner alone: %s", stderr)
	}
	key := filepath.Join(filepath.Dir(cfg), "secrets", "noise.key")
	if err := os.Chmod(key, 0o604); err != nil {
		t.Fatal(err)
	}
	if _, stderr := mustRun(t, "demo", "--events", "10", "--windows", "1", "--noise-key-file", key); !strings.Contains(stderr, "--noise-key-file: "+key+" is open") {
		t.Errorf("demo: %s", stderr)
	}
}

// A password is a secret, too.
func TestAPasswordFileThatOthersCanReadIsTold(t *testing.T) {
	t.Parallel()
	cfg := deploymentFile(t, "127.0.0.1:1", `kafka: {`, `kafka: {sasl: {mechanism: plain, user: u, password_file: pw}, `)
	madeKeys(t, cfg, 0o600)
	pw := filepath.Join(filepath.Dir(cfg), "pw")
	if err := os.WriteFile(pw, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(pw, 0o644); err != nil {
		t.Fatal(err)
	}
	_, stderr := mustRun(t, "validate", "--offline", "--config", cfg)
	if !strings.Contains(stderr, "kafka.sasl.password_file: "+pw+" is open to other users") || strings.Contains(stderr, "hunter2") {
		t.Errorf("stderr %s", stderr)
	}
}

// What can release nothing is told before anything is begun, with a value; --strict refuses.
func TestWhatCanReleaseNothingIsTold(t *testing.T) {
	t.Parallel()
	cfg := deploymentFile(t, "127.0.0.1:1", "last_at_least: 4", "last_at_least: 1000000000", "keys: {list: [north, south, west]}", "keys: {mode: private}", "absolute: 30", "relative: 0.1")
	madeKeys(t, cfg, 0o600)
	const want = "metrics[0].last_at_least: the budget is divided over 1000000000 windows, "
	stdout, stderr := mustRun(t, "validate", "--offline", "--config", cfg)
	if !strings.Contains(stderr, want) || !strings.Contains(stderr, "last_at_least: 365 is a year of windows") || !strings.Contains(stdout, "differential privacy") {
		t.Errorf("validate: %s", stderr)
	}
	for _, args := range [][]string{{"validate", "--offline"}, {"run"}, {"init"}} {
		if code, _, stderr := run(t, append(args, "--strict", "--config", cfg)...); code != exitConfig || !strings.Contains(stderr, want) {
			t.Errorf("%s --strict: exit %d, %s", args[0], code, stderr)
		}
	}
	if _, _, stderr := run(t, "run", "--wait-for-broker", "0", "--config", cfg); !strings.Contains(stderr, "warning: "+cfg) {
		t.Errorf("run: %s", stderr)
	}
	_, stderr = mustRun(t, "demo", "--events", "10", "--windows", "1", "--last-at-least", "1000000000")
	if !strings.Contains(stderr, "warning: --last-at-least: the budget is divided over 1000000000 windows") || !strings.Contains(stderr, "--last-at-least 8760 is a year of windows") {
		t.Errorf("demo: %s", stderr)
	}
	if code, _, stderr := run(t, "demo", "--events", "10", "--windows", "1", "--last-at-least", "1000000000", "--strict"); code != exitConfig || !strings.Contains(stderr, "--strict") {
		t.Errorf("demo --strict: exit %d, %s", code, stderr)
	}
	if _, stderr = mustRun(t, "demo", "--events", "10", "--windows", "1"); strings.Contains(stderr, "warning: ") {
		t.Errorf("a demo without a warning: %s", stderr)
	}
}

// A key from the environment is made in another way than a key file.
func TestValidateSaysHowAMissingKeyIsMade(t *testing.T) {
	t.Parallel()
	cfg := deploymentFile(t, "127.0.0.1:1", "{file: secrets/noise.key}", "{env: TOLLGATE_TEST_NOISE}")
	_, stderr := mustRun(t, "validate", "--offline", "--config", cfg)
	for _, want := range []string{"make one with export TOLLGATE_TEST_NOISE=$(openssl rand -hex 32)", "make one with tollgate init --generate-keys, or (umask 077; mkdir -p "} {
		if strings.Count(stderr, want) != 1 {
			t.Errorf("%q is not said once: %s", want, stderr)
		}
	}
}

// A filter that is never true is refused by --strict where a deployment may begin. One that has
// begun with it goes on: the warning came with an upgrade.
func TestAFilterThatIsNeverTrueStopsNoDeployment(t *testing.T) {
	t.Parallel()
	cfg := deploymentFile(t, "127.0.0.1:1", "    last_at_least: 4\n", "    last_at_least: 4\n    filter: 'who == \"3\"'\n")
	madeKeys(t, cfg, 0o600)
	for command, want := range map[string]int{"validate --offline": exitConfig, "run --wait-for-broker 0s": exitError} {
		code, _, stderr := run(t, append(strings.Fields(command), "--strict", "--config", cfg)...)
		if code != want || !strings.Contains(stderr, "filter") || strings.Contains(stderr, "refused because of --strict") != (want == exitConfig) {
			t.Errorf("%s: exit %d, %s", command, code, stderr)
		}
	}
}
