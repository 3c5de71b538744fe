package commands

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// visits writes a CSV file of four days, in order of time, with broken lines.
func visits(t testing.TB, header bool) string {
	t.Helper()
	var b strings.Builder
	if header {
		b.WriteString("when,who,where\n")
	}
	b.WriteString("soon,person-1,north\n")
	for i := range 4000 {
		moment := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 4 * 24 * time.Hour / 4000)
		fmt.Fprintf(&b, "%s,person-%d,%s\n", moment.Format(time.RFC3339), i, []string{"north", "south"}[i%2])
	}
	b.WriteString("2025-03-04T23:59:59Z,person-secret,\"never closed\n")
	return commandtest.Write(t, "visits.csv", b.String())
}

func mustRun(t testing.TB, args ...string) (stdout, stderr string) {
	t.Helper()
	return commandtest.MustRun(t, rootCommand, args...)
}

// The way of a deployment, as a user types it.
func TestFromAFileToCountsOnKafka(t *testing.T) {
	t.Parallel()
	long.Test(t)
	cfg := commandtest.DeploymentFile(t, commandtest.Broker(t))
	stdout, stderr := mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions",
		"2", "--start", "2025-03-01T12:34:56Z")
	for _, want := range []string{"time begins at 2025-03-01T00:00:00Z", "(4, 1e-06)-differential privacy",
		"next: tollgate run --config " + cfg} {
		if !strings.Contains(stdout, want) {
			t.Errorf("init does not say %q: %s", want, stdout)
		}
	}
	if !strings.Contains(stderr, "made topic shop-control") || !strings.Contains(stderr, "noise.key") {
		t.Errorf("init: stderr %s", stderr)
	}
	if _, stderr = mustRun(t, "replay", "--config", cfg, "--input", visits(t, true),
		"--header"); !strings.Contains(stderr, "is on topic visits") {
		t.Errorf("replay: stderr %s", stderr)
	}
	if _, stderr = mustRun(t, "validate", "--config", cfg); !strings.Contains(stderr,
		"the topics are set up correctly") {
		t.Errorf("validate: stderr %s", stderr)
	}

	report, page := filepath.Join(t.TempDir(), "tallies.json"), filepath.Join(t.TempDir(), "page.html")
	stdout, stderr = mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "1m", "--format", "json",
		"--trusted-report", report, "--report", page)
	days := map[string]int{}
	for _, r := range commandtest.Parse(t, stdout) {
		day := r.WindowStart.Format(time.DateOnly)
		days[day]++
		want := map[string]float64{"north": 500, "south": 500, "west": 0}[r.Key]
		if day <= "2025-03-04" && (r.Value < want-150 || r.Value > want+150) { // 6 σ and more at the target of ± 30
			t.Errorf("release %+v", r)
		}
	}
	for _, day := range []string{"2025-03-01", "2025-03-02", "2025-03-03", "2025-03-04"} {
		if days[day] != 3 {
			t.Errorf("%d releases of %s, want 3", days[day], day)
		}
	}
	if strings.Contains(stdout+stderr, "person-") {
		t.Errorf("a user's id is in the output")
	}
	text := must.Have(os.ReadFile(report))
	var tallies pipeline.Tallies
	if err := json.Unmarshal(text, &tallies); err != nil || tallies.Read != 4002 || tallies.Accepted != 4000 {
		t.Errorf("tallies %+v, %v", tallies, err)
	}
	if body, err := os.ReadFile(page); err != nil || !strings.Contains(string(body), "</html>") {
		t.Errorf("the page: %v", err)
	}

	// Whatever was published is not printed again.
	stdout, _ = mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "1m", "--format", "json")
	for _, r := range commandtest.Parse(t, stdout) {
		if r.WindowStart.Before(time.Date(2025, 3, 5, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("printed again: %+v", r)
		}
	}

	if stdout, _ = mustRun(t, "init", "--config", cfg); !strings.Contains(stdout, "already initialised") {
		t.Errorf("a second init: %s", stdout)
	}
	changed := filepath.Join(filepath.Dir(cfg), "changed.yaml")
	body := must.Have(os.ReadFile(cfg))
	must.Succeed(t, os.WriteFile(changed, []byte(strings.Replace(string(body), "epsilon: 4", "epsilon: 8", 1)), 0o600))
	code, _, stderr := tollgate(t, "run", "--config", changed)
	if code != command.ExitConfig || !strings.Contains(stderr, "budget") || strings.Contains(stderr, "settled") {
		t.Errorf("another budget: exit %d, stderr %s", code, stderr)
	}
}

// Windows that are still open are not closed early: the run is drained when its
// time is over, and says so.
func TestUntilEndClosesNoWindowEarly(t *testing.T) {
	t.Parallel()
	long.Test(t)
	addr := commandtest.Broker(t)
	// no window that contains the present can close while the test runs
	cfg := commandtest.DeploymentFile(t, addr, "no_future: true", "lateness: 1h")
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1")
	now := time.Now().UTC().Format(time.RFC3339)
	mustRun(t, "replay", "--config", cfg, "--input", commandtest.Write(t, "now.csv", now+",a,north\n"+now+",b,north\n"))
	code, stdout, stderr := tollgate(t, "run", "--config", cfg, "--until-end", "--wait", "3s")
	if code != command.ExitError || !strings.Contains(stderr, "1 turn is open, the last one until ") ||
		!strings.Contains(stderr, "the clock counts instead, at ") || strings.Contains(stdout, "north") {
		t.Errorf("exit %d, stdout %s, stderr %s", code, stdout, stderr)
	}
	if !strings.Contains(stderr, "first result at ") || strings.Contains(stderr, "drained") || strings.Count(stderr,
		"turns settled") > 1 {
		t.Errorf("the progress, and no summary beside the error: %s", stderr)
	}
	// Even if its time is over before it has read anything.
	if code, _, stderr := tollgate(t, "run", "--config", cfg, "--until-end", "--wait", "1ms"); code !=
		command.ExitError || !strings.Contains(stderr, "run again to continue") || strings.Contains(stderr, "drained") {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
}

// A time that the run is told ends it, whatever is on the topic: an event of the
// year 9999 is waited for with --until-end only.
func TestRuleUntilATimeHangsOnNoRecord(t *testing.T) {
	t.Parallel()
	long.Test(t)
	var printed []string
	for _, hostile := range []string{"", "9999-12-31T23:59:59Z,evil,north\n"} {
		addr := commandtest.Broker(t)
		cfg := commandtest.DeploymentFile(t, addr)
		mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1", "--start",
			"2025-03-01")
		mustRun(t, "replay", "--config", cfg, "--input", visits(t, false))
		if hostile != "" {
			mustRun(t, "replay", "--config", cfg, "--input", commandtest.Write(t, "evil.csv", hostile))
		}
		stdout, stderr := mustRun(t, "run", "--config", cfg, "--until", "2025-03-04T12:00:00Z", "--wait", "1m",
			"--format", "json")
		if !strings.Contains(stderr, "every window that ends by 2025-03-04T12:00:00Z is settled") {
			t.Errorf("stderr %s", stderr)
		}
		windows := ""
		for _, r := range commandtest.Parse(t, stdout) {
			windows += fmt.Sprintln(r.WindowStart, r.Key)
		}
		printed = append(printed, windows)
	}
	if printed[0] != printed[1] || strings.Count(printed[0], "\n") != 9 {
		t.Errorf("printed were\n%s\nand with one more record\n%s", printed[0], printed[1])
	}
}

func TestRunIsDrainedByASignal(t *testing.T) {
	long.Test(t)
	addr := commandtest.Broker(t)
	cfg := commandtest.DeploymentFile(t, addr)
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1", "--start",
		"2025-03-01")
	drained := func(r *begun, says string) {
		t.Helper()
		terminate(t)
		if code := <-r.over; code != command.ExitOK || !strings.Contains(r.stderr.String(), says) ||
			!strings.Contains(r.stderr.String(), "run again to continue") {
			t.Errorf("exit %d, stderr %s", code, &r.stderr)
		}
	}
	r := begin("run", "--config", cfg)
	written(t, addr, "shop-control", 2) // HEADER, RUN, EPOCH: it has begun
	drained(r, "drained: no turn was settled")
	mustRun(t, "replay", "--config", cfg, "--input", visits(t, true), "--header")
	r = begin("run", "--config", cfg, "--format", "json")
	says(t, &r.stdout, "2025-03-02T00:00:00Z")
	drained(r, "drained: everything up to turn")
	if stdout, _ := mustRun(t, "run", "--config", cfg, "--until", "2025-03-05", "--wait", "1m", "--format",
		"json"); strings.Contains(r.stdout.String(), "2025-03-05") == strings.Contains(stdout, "2025-03-05") {
		t.Errorf("a run that goes on does not publish what is left, once: %s", stdout)
	}
}
