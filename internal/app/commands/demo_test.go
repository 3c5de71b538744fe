package commands

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// small is a made-up stream that takes little time.
func small(more ...string) []string {
	return append([]string{"demo", "--events", "12000", "--users", "3000", "--windows", "4", "--keys-count", "2"}, more...)
}

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
	code, stdout, stderr := run(t, small("--trusted-report", report)...)
	if code != exitOK {
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
	if !strings.Contains(stderr, "as were made up") {
		t.Errorf("stderr %q", stderr)
	}
}

// release is a line of JSON by the definition.
type release struct {
	Metric      string    `json:"metric"`
	WindowStart time.Time `json:"window_start"`
	WindowEnd   time.Time `json:"window_end"`
	Key         string    `json:"key"`
	Value       float64   `json:"value"`
	StdDev      float64   `json:"stddev"`
	Low         float64   `json:"low"`
	High        float64   `json:"high"`
	Precision   float64   `json:"precision"`
	Confidence  float64   `json:"confidence"`
	Met         bool      `json:"met"`
	Rungs       int       `json:"rungs"`
}

func parse(t testing.TB, stdout string) []release {
	t.Helper()
	var out []release
	for line := range strings.Lines(stdout) {
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		var r release
		if err := d.Decode(&r); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		out = append(out, r)
	}
	return out
}

func TestDemoJSONIsAloneOnStdout(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, small("--format", "json")...)
	if code != exitOK {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	releases := parse(t, stdout)
	if len(releases) != 8 {
		t.Fatalf("%d releases, want 8", len(releases))
	}
	ordered := slices.IsSortedFunc(releases, func(a, b release) int {
		if c := a.WindowEnd.Compare(b.WindowEnd); c != 0 {
			return c
		}
		return strings.Compare(a.Key, b.Key)
	})
	if !ordered {
		t.Error("releases are not ordered by window end and key")
	}
	for _, r := range releases {
		if r.Metric != "events" || r.Rungs < 1 || r.Low > r.Value || r.Value > r.High || r.Confidence != 0.95 || r.WindowEnd.Sub(r.WindowStart) != time.Hour {
			t.Errorf("release %+v", r)
		}
	}
	if !strings.Contains(stderr, "differential privacy") {
		t.Errorf("the promise is not on stderr: %q", stderr)
	}
}

// people writes a CSV file of days of visits, out of order, with broken lines.
func people(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("when,who,where\n")
	for i := range 4000 {
		day := i * 7 % 4
		fmt.Fprintf(&b, "%s,person-%d,%s\n", time.Date(2025, 3, 1+day, i%24, 0, 0, 0, time.UTC).Format(time.RFC3339), i, []string{"north", "south"}[i/4%2])
	}
	b.WriteString("soon,person-1,north\n,,\n2025-03-02T00:00:00Z,person-secret,\"never closed\n")
	return write(t, "visits.csv", b.String())
}

func fileArgs(path string, more ...string) []string {
	return append([]string{
		"demo", "--input", path, "--header", "--user-field", "who", "--key-field", "where", "--time-field", "when",
		"--window", "24h", "--absolute", "50", "--lasts", "30d",
	}, more...)
}

func TestDemoOnAFile(t *testing.T) {
	t.Parallel()
	path := people(t)
	key := write(t, "key", strings.Repeat("0123456789abcdef", 4)+"\n")
	report := filepath.Join(t.TempDir(), "report.json")
	code, stdout, stderr := run(t, fileArgs(path, "--public-keys", "north,south,west", "--noise-key-file", key, "--trusted-report", report,
		"--time-unit", "rfc3339", "--repeat", "a9804dccbb50d35fac078e6d07c92702", // where keys are derived otherwise, it needs a new name
		"--from", "2025-03-01", "--to", "2025-03-06")...)
	if code != exitOK {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	golden.File(t, "testdata/demo_file.golden", stdout)
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
	if tallies.Read != 4003 || tallies.Accepted != 4000 || tallies.DeadLettered["undecodable"] != 1 || tallies.Metrics[0].Open != 0 {
		t.Errorf("tallies %+v", tallies)
	}
}

func TestDemoProtectsKeysOfAFileByDefault(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(people(t))
	if err != nil {
		t.Fatal(err)
	}
	alone := "2025-03-02T00:00:00Z,person-7,of one person\n"
	code, stdout, stderr := run(t, fileArgs(write(t, "one.csv", strings.Replace(string(text), "\n", "\n"+alone, 1)), "--format", "json")...)
	if code != exitOK {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	if !strings.Contains(stderr, "private: a key is released if more than about") || !strings.Contains(stderr, "not protected") {
		t.Errorf("stderr %q", stderr)
	}
	all := parse(t, stdout)
	if len(all) < 4 {
		t.Errorf("%d values were released", len(all))
	}
	for _, r := range all {
		if r.Key != "north" && r.Key != "south" {
			t.Errorf("release %+v", r)
		}
	}
}
