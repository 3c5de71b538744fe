package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// madeKeys puts two keys beside a configuration of deploymentFile, with a mode.
func madeKeys(t *testing.T, cfg string, mode os.FileMode) {
	t.Helper()
	dir := filepath.Join(filepath.Dir(cfg), "secrets")
	must.Succeed(t, os.MkdirAll(dir, 0o700))
	for name, digits := range map[string]string{"noise.key": "5a", "user-hash.key": "a5"} {
		path := filepath.Join(dir, name)
		must.Succeed(t, os.WriteFile(path, []byte(strings.Repeat(digits, 32)), 0o600))
		if err := os.Chmod(path, mode); err != nil { // whatever the umask says
			t.Fatal(err)
		}
	}
}

// Every command that reads the keys says which of them others can read, and what to do; --strict
// refuses.
func TestSecretsThatOthersCanReadAreTold(t *testing.T) {
	t.Parallel()
	addr := commandtest.Broker(t)
	cfg := commandtest.DeploymentFile(t, addr)
	for mode, who := range map[os.FileMode]string{0o644: "other users of this machine (mode 0644)",
		0o640: "its group (mode 0640)"} {
		madeKeys(t, cfg, mode)
		_, stderr := mustRun(t, "validate", "--offline", "--config", cfg)
		for _, want := range []string{"warning: " + cfg + ":18:17: keys.noise.file:", "keys.user_hash.file:", who,
			"chmod 600 "} {
			if !strings.Contains(stderr, want) {
				t.Errorf("%v: validate does not say %q: %s", mode, want, stderr)
			}
		}
		for _, line := range []string{"validate", "init", "run"} {
			code, _, stderr := tollgate(t, line, "--strict", "--config", cfg)
			if code != command.ExitConfig || !strings.Contains(stderr, "keys.user_hash.file") ||
				!strings.Contains(stderr, "--strict") {
				t.Errorf("%s --strict: exit %d, %s", line, code, stderr)
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
}
