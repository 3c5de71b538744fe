// Package commandtest runs command lines in tests, and creates the files that they read.
package commandtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
)

// Small returns a demo of a small made-up stream, which takes little time.
func Small(more ...string) []string {
	return append([]string{"demo", "--events", "12000", "--users", "3000", "--windows", "4", "--keys-count", "2"},
		more...)
}

// Release is a release in JSON, as documented.
type Release struct {
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

func Parse(t testing.TB, stdout string) []Release {
	t.Helper()
	var out []Release
	for line := range strings.Lines(stdout) {
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		var r Release
		if err := d.Decode(&r); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		out = append(out, r)
	}
	return out
}

// People writes a CSV file of days of visits, out of order, with broken lines.
func People(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("when,who,where\n")
	for i := range 4000 {
		day := i * 7 % 4
		fmt.Fprintf(&b, "%s,person-%d,%s\n", time.Date(2025, 3, 1+day, i%24, 0, 0, 0, time.UTC).Format(time.RFC3339), i,
			[]string{"north", "south"}[i/4%2])
	}
	b.WriteString("soon,person-1,north\n,,\n2025-03-02T00:00:00Z,person-secret,\"never closed\n")
	return Write(t, "visits.csv", b.String())
}

func FileArgs(path string, more ...string) []string {
	return append([]string{
		"demo", "--input", path, "--header", "--user-field", "who", "--key-field", "where", "--time-field", "when",
		"--window", "24h", "--absolute", "50", "--lasts", "30d",
	}, more...)
}

// Broker starts an embedded broker.
func Broker(t testing.TB) string {
	t.Helper()
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b.Addr()
}

// DeploymentFile writes a configuration for a broker into its own directory, where init will create
// the keys.
func DeploymentFile(t testing.TB, broker string, change ...string) string {
	t.Helper()
	text := strings.NewReplacer(change...).Replace(fmt.Sprintf(`
deployment: shop
kafka: {brokers: ["%s"]}
events:
  topic: visits
  format: csv
  columns: [when, who, where]
  fields: {user: who, key: where, time: when}
  time_unit: rfc3339
privacy: {epsilon: 4, delta: 1e-6, lasts: 4d}
time: {trust: producer, no_future: true, idle_grace: 1s}
metrics:
  - name: views
    window: {size: 1d}
    keys: {list: [north, south, west]}
    target: {absolute: 30}
keys:
  noise: {file: secrets/noise.key}
  user_hash: {file: secrets/user-hash.key}
shards: 4
`, broker))
	return Write(t, "tollgate.yaml", text)
}

// MustRun runs a command line that must not fail.
func MustRun(t testing.TB, build func(*command.App) *cobra.Command, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := Run(t, build, args...)
	if code != command.ExitOK {
		t.Fatalf("tollgate %s: exit %d, stderr %s", strings.Join(args, " "), code, stderr)
	}
	return stdout, stderr
}

// Run executes one command line, with the commands that build returns.
func Run(t testing.TB, build func(*command.App) *cobra.Command, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &command.App{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	code = command.Execute(context.Background(), a, build, AsText(args))
	return code, out.String(), errs.String()
}

// AsText lets run log for people, as on a terminal.
func AsText(args []string) []string {
	if len(args) > 0 && args[0] == "run" && !slices.Contains(args, "--log-format") && !slices.Contains(args, "--help") {
		args = append(slices.Clone(args), "--log-format", "text")
	}
	return args
}

// Write writes a file into a temporary directory of the test.
func Write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TwoMetrics is the configuration for the golden files.
const TwoMetrics = `
kafka: {brokers: ["localhost:1"]}
events: {topic: visits, format: jsonl, fields: {user: u, key: k, time: t}, time_unit: ms}
privacy: {epsilon: 1, delta: 1e-6, lasts: 1d}
metrics:
  - name: private
    window: {size: 1h}
    bounds: {max_keys_per_user: 2, max_events_per_key: 3}
    target: {relative: 0.1, absolute: 250}
  - name: public
    window: {size: 1h}
    keys: {list: [a, b]}
    target: {relative: 0.05, absolute: 60}
keys: {noise: {file: noise.key}, user_hash: {file: user.key}}
`

// Of returns a program that has only the given commands.
func Of(all ...func(*command.App) *cobra.Command) func(*command.App) *cobra.Command {
	return func(a *command.App) *cobra.Command {
		root := &cobra.Command{Use: "tollgate"}
		for _, one := range all {
			root.AddCommand(one(a))
		}
		return root
	}
}
