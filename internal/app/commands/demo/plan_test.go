package demo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// fileOf writes a file whose users do two things each in an hour, and whose last line is broken.
func fileOf(t testing.TB) (path string, fields []string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("who,where,when\n")
	for i := range 6000 {
		fmt.Fprintf(&b, "person-%d,/page-%d,2025-03-0%dT00:00:00Z\n", i/2, i%4, 3+i%3)
	}
	b.WriteString("person-secret,/page-1,never\n")
	path = commandtest.Write(t, "visits.csv", b.String())
	return path, []string{"--input", path, "--header", "--user-field", "who", "--key-field", "where", "--time-field",
		"when"}
}

func planJSON(t *testing.T, args ...string) *planAnswer {
	t.Helper()
	stdout, _ := mustRun(t, append([]string{"plan", "--format", "json"}, args...)...)
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	var a planAnswer
	if err := decoder.Decode(&a); err != nil || decoder.More() {
		t.Fatalf("%v: %s", err, stdout)
	}
	return &a
}

// The recommended setting takes the place of two sections of the example, and validate accepts it;
// the demo takes the flags below it, and shows what was said.
func TestTheSettingOfPlanIsTaken(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	section := regexp.MustCompile(`(?m)^(privacy|metrics):\n([ #].*\n|\n)*`)
	if n := len(section.FindAll(example, -1)); n != 2 {
		t.Fatalf("%d sections", n)
	}
	rest := section.ReplaceAllString(string(example), "")
	rest = regexp.MustCompile(`(?m)^  sasl:\n(    .*\n)*`).ReplaceAllString(rest, "")
	_, fields := fileOf(t)
	for name, more := range map[string][]string{
		"private": {"--window", "1d", "--epsilon", "2", "--absolute", "50"},
		"public":  {"--window", "1d", "--public-keys", "/page-0,/page-1"},
		"file":    {"--window", "1d", "--public-keys", commandtest.Write(t, "pages.txt", "/page-0\n/page-2\n")},
	} {
		if name != "private" && !long.On() {
			continue
		}
		a := planJSON(t, append(more, fields...)...)
		b := a.Best
		stdout, stderr := mustRun(t, "validate", "--offline", "--config", commandtest.Write(t, "tollgate.yaml",
			rest+"\n"+a.YAML))
		if !strings.Contains(stdout, "1d") || !strings.Contains(stdout, fmt.Sprintf("(%v, 1e-06)", b.Epsilon)) ||
			strings.Contains(stderr, "warning") {
			t.Errorf("%s: %s%s", name, stdout, stderr)
		}
		stdout, stderr = mustRun(t, slices.Concat([]string{"demo", "--format", "json"}, more, fields,
			strings.Fields(a.Demo))...)
		shown := strings.Count(stdout, "\n")
		if forecast := b.Shown; float64(shown) < forecast-2 || float64(shown) > forecast+2 {
			t.Errorf("%s: %s: %d values, said %.1f\n%s", name, a.Demo, shown, forecast, stderr)
		}
	}
}

func TestPublicKeysOfAPlanAreYAML(t *testing.T) {
	t.Parallel()
	if got, want := publicKeysYAML(`a: b,"c"`, []string{`"c"`, "a: b"}),
		`{mode: public, list: ["\"c\"", "a: b"]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// fifo returns a named pipe into which a text is written, once.
func fifo(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	go os.WriteFile(path, []byte(text), 0) //nolint:errcheck // the reader tells
	return path
}

// A pipe without a usable record is not opened again: that would block forever.
func TestPlanReadsAPipeOnce(t *testing.T) {
	t.Parallel()
	code, _, stderr := run(t, "plan", "--input-format", "csv", "--input", fifo(t, "who,what,when\na,b,never\n"),
		"--header", "--user-field", "who", "--key-field", "what", "--time-field", "when", "--window", "1h")
	if code != command.ExitError || !strings.Contains(stderr, "no record of") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// A default target that the counts are too small for is left out, and so is a time zone that the
// windows cannot follow.
func TestAPlanCanBeUsedAsItIs(t *testing.T) {
	t.Parallel()
	text := strings.Builder{}
	for i := range 3000 {
		fmt.Fprintf(&text, "u%d,%d,2025-03-0%dT00:00:00Z\n", i/2, i%90, 3+i%3)
	}
	args := []string{"--input", commandtest.Write(t, "sizes.csv", text.String()), "--columns", "who,size,when",
		"--user-field", "who", "--time-field", "when", "--value-field", "size", "--min", "0", "--max", "100", "--kind"}
	if a := planJSON(t, append(args, "quantiles")...); !strings.Contains(a.YAML, "target: {noise: ") ||
		!strings.HasSuffix(a.Demo, " --absolute 0") {
		t.Errorf("%s\n%s", a.YAML, a.Demo)
	}
	for window, want := range map[string]string{"6h": "# Leave out window_zone: ", "1d": "# Needs window_zone: "} {
		if a := planJSON(t, append(args, "mean", "--time-zone", "Europe/Zurich", "--window", window)...); !strings.
			HasPrefix(a.YAML, want) {
			t.Errorf("%s: %s", window, a.YAML)
		}
	}
}

func TestAPlanSaysWhyNoEventIsLeft(t *testing.T) {
	t.Parallel()
	_, fields := fileOf(t)
	for want, args := range map[string][]string{
		"lies between --from and --to": {"--from", "2001-01-01", "--to", "2001-01-02"},
		"has a key of --public-keys":   {"--public-keys", "none"},
	} {
		code, _, stderr := run(t, slices.Concat([]string{"plan"}, fields, args)...)
		if code != command.ExitError || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d, %s", args, code, stderr)
		}
	}
}

// A plan warns if a deployment runs for longer than the events that it is planned by.
func TestPlanWarnsOfShortSamples(t *testing.T) {
	const day = 24 * time.Hour
	for _, tc := range []struct {
		config      string
		given       bool
		span, lasts time.Duration
		want        string
	}{
		{"", false, 30 * day, 28 * day, "lasts: 28d is about"},
		{"", true, 30 * day, 90 * day, ""},
		{"t.yaml", false, 15 * time.Minute, 30 * day, "The events span 15m, but"},
		{"t.yaml", false, 29 * day, 30 * day, ""},
	} {
		f := &planFlags{config: tc.config}
		f.given = func(string) bool { return tc.given }
		p := &planAnswer{From: time.UnixMilli(0), To: time.UnixMilli(0).Add(tc.span)}
		p.Best.Lasts = tc.lasts
		if got := f.lifeWarning(p); !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

// The values of keys without events are noise that looks like counts.
func TestADemoNamesMistakenKeys(t *testing.T) {
	t.Parallel()
	_, fields := fileOf(t)
	args := append([]string{"demo", "--window", "1d", "--public-keys", "/page-0,/page-0 "}, fields...)
	_, stderr := mustRun(t, args...)
	if !strings.Contains(stderr, "most events have other keys") || !strings.Contains(stderr, "1 key without an event") {
		t.Error(stderr)
	}
}
