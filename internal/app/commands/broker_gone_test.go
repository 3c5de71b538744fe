package commands

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// A run that is started while its broker restarts waits for it, and one that is to end while no
// broker answers ends soon.
func TestRuleARunOutlivesARestartOfItsBrokerAndEndsWithoutOne(t *testing.T) {
	long.Test(t)
	dir := t.TempDir()
	b := must.Have(embedded.Start(embedded.Options{DataDir: dir}))
	addr := b.Addr()
	cfg := commandtest.DeploymentFile(t, addr)
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1", "--start",
		"2025-03-01")
	mustRun(t, "replay", "--config", cfg, "--input", visits(t, true), "--header")
	b.Close()

	code, _, stderr := tollgate(t, "run", "--config", cfg, "--wait-for-broker", "0s")
	if code != command.ExitError || !strings.Contains(stderr, "nothing listens there") || strings.Contains(stderr,
		"SASL") {
		t.Errorf("without waiting: exit %d, stderr %s", code, stderr)
	}
	start := func(args ...string) *begun { return begin(append([]string{"run", "--config", cfg}, args...)...) }

	r := start("--until-end", "--wait-for-broker", "2m")
	says(t, &r.stderr, "no broker answers, waiting for one for up to 2m0s")
	b = must.Have(embedded.Start(embedded.Options{Addr: addr, DataDir: dir}))
	defer func() { b.Close() }()
	if code := <-r.over; code != command.ExitOK || !strings.Contains(r.stdout.String(), "north") {
		t.Errorf("a start during a restart: exit %d, stdout %s, stderr %s", code, &r.stdout, &r.stderr)
	}

	r = start()
	says(t, &r.stdout, "2025-03-06") // the second turn of this run
	b.Close()
	begin := time.Now()
	terminate(t)
	if code := <-r.over; code != command.ExitError || !strings.Contains(r.stderr.String(),
		"no broker answers: the run ended with unfinished work, which the next run will redo") ||
		time.Since(begin) > 20*time.Second {
		t.Errorf("a signal without a broker, after %v: exit %d, stderr %s", time.Since(begin), code, &r.stderr)
	}

	r = start("--wait-for-broker", "10m")
	says(t, &r.stderr, "no broker answers, waiting for one")
	begin = time.Now()
	terminate(t)
	if code := <-r.over; code != command.ExitError || !strings.Contains(r.stderr.String(),
		"before the run began anything") || strings.Contains(r.stderr.String(), "turn") ||
		time.Since(begin) > 20*time.Second {
		t.Errorf("a signal during the wait, after %v: exit %d, stderr %s", time.Since(begin), code, &r.stderr)
	}
}
