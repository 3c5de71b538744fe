package demo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// elapsed hides what differs between two runs.
func elapsed(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "after") || strings.Contains(line, "turns settled") {
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, "")
}

func TestDemoGolden(t *testing.T) {
	t.Parallel()
	report := filepath.Join(t.TempDir(), "report.json")
	code, stdout, stderr := run(t, commandtest.Small("--trusted-report", report)...)
	if code != command.ExitOK {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	golden.File(t, "testdata/demo.golden", stdout)
	golden.File(t, "testdata/demo_stderr.golden", elapsed(stderr))
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/demo_report.golden", string(text))
	if info, err := os.Stat(report); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the report is readable by others: %v (%v)", info.Mode(), err)
	}
	if !strings.Contains(stderr, "every record is accounted for") {
		t.Errorf("stderr %q", stderr)
	}
}

func TestDemoJSONIsAloneOnStdout(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, commandtest.Small("--format", "json")...)
	if code != command.ExitOK {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	releases := commandtest.Parse(t, stdout)
	if len(releases) != 8 {
		t.Fatalf("%d releases, want 8", len(releases))
	}
	ordered := slices.IsSortedFunc(releases, func(a, b commandtest.Release) int {
		if c := a.WindowEnd.Compare(b.WindowEnd); c != 0 {
			return c
		}
		return strings.Compare(a.Key, b.Key)
	})
	if !ordered {
		t.Error("releases are not ordered by window end and key")
	}
	for _, r := range releases {
		if r.Metric != "events" || r.Rungs < 1 || r.Low > r.Value || r.Value > r.High || r.Confidence != 0.95 ||
			r.WindowEnd.Sub(r.WindowStart) != time.Hour {
			t.Errorf("release %+v", r)
		}
	}
	if !strings.Contains(stderr, "differential privacy") {
		t.Errorf("the promise is not on stderr: %q", stderr)
	}
}

func TestDemoOnAFile(t *testing.T) {
	t.Parallel()
	path := commandtest.People(t)
	report := filepath.Join(t.TempDir(), "report.json")
	args := commandtest.FileArgs(path, "--public-keys", "north,south,west", "--time-unit", "rfc3339",
		"--from", "2025-03-01", "--to", "2025-03-06")
	fixed, _ := shownToPublic(t, args[1:]...)
	golden.File(t, "testdata/demo_file.golden", fixed)
	code, stdout, stderr := run(t, append(args, "--trusted-report", report)...)
	if code != command.ExitOK {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	for _, secret := range []string{"person-", "never", "soon"} {
		if strings.Contains(stdout+stderr, secret) {
			t.Errorf("%q is in the output", secret)
		}
	}
	for _, exact := range []string{"4,003", "4,000"} { // the holder of the file reads them, no reader of stdout does
		if strings.Contains(stdout, exact) || !strings.Contains(stderr, exact) {
			t.Errorf("%q is on stdout, or not on stderr", exact)
		}
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var tallies pipeline.Tallies
	if err := json.Unmarshal(text, &tallies); err != nil {
		t.Fatal(err)
	}
	if tallies.Read != 4003 || tallies.Accepted != 4000 || tallies.DeadLettered["undecodable"] != 1 ||
		tallies.Metrics[0].Open != 0 {
		t.Errorf("tallies %+v", tallies)
	}
}

func TestDemoProtectsKeysOfAFileByDefault(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(commandtest.People(t))
	if err != nil {
		t.Fatal(err)
	}
	alone := "2025-03-02T00:00:00Z,person-7,of one person\n"
	code, stdout, stderr := run(t, commandtest.FileArgs(commandtest.Write(t, "one.csv", strings.Replace(string(text),
		"\n", "\n"+alone, 1)), "--format", "json")...)
	if code != command.ExitOK {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	if !strings.Contains(stderr, "private: a key is released if more than about") || !strings.Contains(stderr,
		"not protected") {
		t.Errorf("stderr %q", stderr)
	}
	all := commandtest.Parse(t, stdout)
	if len(all) < 4 {
		t.Errorf("%d values were released", len(all))
	}
	for _, r := range all {
		if r.Key != "north" && r.Key != "south" {
			t.Errorf("release %+v", r)
		}
	}
}

// Two runs on one file share no noise: equal values would show whose data have not changed.
func TestRuleTwoRunsOfADemoShareNoNoise(t *testing.T) {
	t.Parallel()
	args := commandtest.FileArgs(commandtest.People(t), "--public-keys", "north,south,west", "--format", "json",
		"--from", "2025-03-01", "--to", "2025-03-06")
	first, _ := mustRun(t, args...)
	again, _ := mustRun(t, args...)
	if strings.Count(first, "\n") != 15 {
		t.Fatalf("stdout %s", first)
	}
	shared := slices.DeleteFunc(slices.Collect(strings.Lines(first)), func(line string) bool {
		return !strings.Contains(again, line)
	})
	if len(shared) > 1 { // values are multiples of 1/1024: by chance two agree once in 10^7 runs
		t.Errorf("both runs released %s", shared)
	}
}
