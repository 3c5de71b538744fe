package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/app/commands/run"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/schemas"
)

func TestMain(m *testing.M) {
	if err := await.AtOnce(4); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// tollgate executes one command line.
func tollgate(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return commandtest.Run(t, rootCommand, args...)
}

func TestHelpGolden(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "init", "run", "serve", "change", "status", "statement", "forget", "audit",
		"promise",
		"man",
		"recover", "replay", "dlq",
		"dlq list", "dlq show", "dlq replay", "validate", "plan", "plan --help-all", "demo", "demo --help-all",
		"budget",
		"budget releases", "budget calibrate", "budget convert", "budget compose", "budget compare", "probe",
		"version"} {
		name := "help_" + strings.NewReplacer(" --help-all", "_all", " ", "_").Replace(line) + ".golden"
		if line == "" {
			name = "help.golden"
		}
		args := strings.Fields(line)
		if !strings.HasSuffix(line, "--help-all") {
			args = append(args, "--help")
		}
		code, stdout, stderr := tollgate(t, args...)
		if code != command.ExitOK || stderr != "" {
			t.Errorf("%s --help: exit %d, stderr %q", line, code, stderr)
		}
		golden.File(t, "testdata/"+name, stdout)
	}
}

// Which engines a binary has follows from its build, so version says it; and the formats of the
// changelog's table.
func TestVersion(t *testing.T) {
	t.Parallel()
	has := run.EngineNames()
	code, stdout, _ := tollgate(t, "version")
	if code != command.ExitOK || !strings.HasPrefix(stdout, "module    github.com/tollgate-dp/tollgate\nversion   ") ||
		!strings.HasSuffix(stdout, "\nengines   "+strings.Join(has, ", ")+"\n") {
		t.Errorf("exit %d, stdout %q", code, stdout)
	}
	code, stdout, _ = tollgate(t, "version", "--format", "json")
	var printed struct {
		Module, Version string
		Engines         []string
		Formats         []string
	}
	if err := json.Unmarshal([]byte(stdout), &printed); err != nil || code != command.ExitOK ||
		printed.Module != "github.com/tollgate-dp/tollgate" || printed.Version == "" ||
		!slices.Equal(printed.Engines, has) {
		t.Errorf("exit %d, stdout %q", code, stdout)
	}
	changelog := contentsOf(t, "../../../docs/changelog.md")
	for _, f := range schemas.FormatVersions() {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %s[^|]*\| %d \|`, f.Format, f.Version))
		if !row.MatchString(changelog) || !slices.Contains(printed.Formats, fmt.Sprintf("%s %d", f.Format, f.Version)) {
			t.Errorf("the changelog has no row of %v, or version does not name it: %q", f, printed.Formats)
		}
	}
}

// Whatever is wrong with flags ends in exit code 2, files that cannot be used
// in 1, the contents of key files in 3; nothing is printed on stdout, and the
// message names the flag.
func TestBadCommandLines(t *testing.T) {
	t.Parallel()
	csv := commandtest.Write(t, "events.csv", "user,page,when\nu1,a,2025-03-03T00:00:00Z\n")
	plain := commandtest.Write(t, "events.dat", "")
	file := []string{"demo", "--input", csv, "--header", "--user-field", "user", "--key-field", "page", "--time-field",
		"when"}
	with := func(more ...string) []string { return append(append([]string{}, file...), more...) }
	for _, tc := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"unknown command", []string{"dmeo"}, 2, `unknown command "dmeo" for "tollgate": is demo meant?`},
		{"unknown flag", []string{"demo", "--colour"}, 2, "unknown flag: --colour"},
		{"format as a flag", []string{"demo", "--json"}, 2, "is --format json meant?"},
		{"directory", []string{"demo", "--input", ".", "--user-field", "user", "--time-field", "when"}, 2,
			". is a directory"},
		{"nobody recovers", []string{"recover", "--config", csv}, 2, "give --by"},
		{"argument", []string{"demo", "file.csv"}, 2, `is --input file.csv meant?`},
		{"format", []string{"version", "--format", "yaml"}, 2, "must be table or json"},

		{"releases without sigma", []string{"budget", "releases"}, 2, `"sigma" not set`},
		{"convert nothing", []string{"budget", "convert"}, 2, "exactly two"},
		{"convert delta 1", []string{"budget", "convert", "--epsilon", "1", "--delta", "1"}, 2, "--delta must be"},

		{"epsilon 0", []string{"demo", "--epsilon", "0"}, 2, "--epsilon: 0 is out of range"},
		{"delta 0", []string{"demo", "--delta", "0"}, 2, "--delta: 0 is out of range"},
		{"noise that no user can pay", []string{"demo", "--epsilon", "1e-7", "--absolute", "1"}, 2, "--absolute"},
		{"fewer than no keys per user", []string{"demo", "--max-keys-per-user", "-1"}, 2, "--max-keys-per-user: -1 is"},
		{"relative error of 60%", []string{"demo", "--relative", "0.6"}, 2, "--relative"},
		{"window 0", []string{"demo", "--window", "0s"}, 2, "window"},
		{"no users", []string{"demo", "--users", "0"}, 2, "users"},
		{"file flag without a file", []string{"demo", "--time-unit", "ms"}, 2, "--time-unit is only used with --input"},

		{"generator flag beside a file", with("--events", "3"), 2, "--events is for made-up events"},
		{"no user", []string{"demo", "--input", csv, "--header", "--time-field", "when"}, 2, "give --user-field"},
		{"no fields and no columns", []string{"plan", "--input", csv, "--kind", "sum"}, 2, "time of the event; " +
			"--header, if the first record names the columns, or --columns a,b,c\n--kind sum needs --value-field"},
		{"no delta for keys", with("--delta-keys", "0"), 2, "above 0 and below --delta, 1e-06"},
		{"no buckets", with("--kind", "histogram", "--buckets", "0"), 2, "--buckets must be from 2 to 50"},
		{"a promise of no duration", with("--lasts", "0s"), 2, "--lasts must be above 0"},
		{"columns without the user", []string{"demo", "--input", csv, "--columns", "a,when", "--user-field", "user",
			"--time-field", "when"}, 2, `no column "user"`},
		{"format not in the name", []string{"demo", "--input", plain, "--user-field", "a", "--time-field", "b"}, 2,
			"--input-format is needed"},
		{"unknown time unit", with("--time-unit", "weeks"), 2, "must be s, ms, us, ns, "},
		{"from is not a time", with("--from", "yesterday"), 2, "must be a time like"},
		{"from inside a window", with("--from", "2025-03-03T00:30:00Z"), 2,
			"2025-03-03T00:00:00Z or 2025-03-03T01:00:00Z"},
		{"from before 1970", with("--from", "1969-01-01"), 2, "before 1970"},
		{"to before from", with("--from", "2025-03-04", "--to", "2025-03-03"), 2, "must be before --to"},
		{"report without a name", with("--report", ""), 2, "--report is empty"},
		{"no further statistics", with("--also", ""), 2, "--also is empty"},
		{"edges that fall", with("--kind", "histogram", "--value-field", "user", "--edges", "10,5,0"), 2,
			"--edges: edges must be in ascending order"},
		{"one edge", with("--kind", "histogram", "--value-field", "user", "--edges", "5"), 2, "3 to 51 edges are"},
		{"private sums", with("--kind", "sum", "--value-field", "user"), 2, "needs --public-keys"},
		{"edges that no number has", with("--kind", "histogram", "--value-field", "user", "--edges", "0,1e300"), 2,
			"--edges: 1e+300 is out of range"},
		{"an empty key", with("--public-keys", "a,,b"), 2, "key 2: it is empty"},

		{"missing input", []string{"demo", "--input", "/nowhere/events.csv", "--header", "--user-field", "u",
			"--time-field", "t"}, 1, "--input /nowhere/events.csv: file does not exist: correct the path"},
		{"header without the user", []string{"demo", "--input", csv, "--header", "--user-field", "name", "--time-field",
			"when"}, 1, `no column "name"`},
		{"report in a missing directory", with("--trusted-report", "/nowhere/report.json"), 1, "--trusted-report"},

		{"key list is empty", with("--public-keys", commandtest.Write(t, "keys.txt", "\n\n")), 3, "it contains no key"},
		{"key list has a bad key", with("--public-keys", commandtest.Write(t, "keys.txt", "a\n\xff\n")), 3, "key 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := tollgate(t, tc.args...)
			if code != tc.code {
				t.Errorf("exit %d, want %d", code, tc.code)
			}
			if stdout != "" {
				t.Errorf("stdout %q", stdout)
			}
			if !strings.Contains(stderr, tc.want) || !strings.Contains(stderr, "error: ") {
				t.Errorf("stderr %q does not say %q", stderr, tc.want)
			}
			if strings.Contains(stderr, "--help") != (tc.code == command.ExitUsage) {
				t.Errorf("only errors of flags point to the help: %q", stderr)
			}
		})
	}
}

func TestSecretsAreInNoError(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"probe", "--url", "ftp://ada:deadbeef@host"},
		{"probe", "--url", "http://ada:dead beef@host/deadbeef@host"},
		{"http://ada:deadbeef@host"},
		{"dlq", "http://ada:deadbeef@host"},
	} {
		code, _, stderr := tollgate(t, args...)
		if code == command.ExitOK || strings.Contains(stderr, "beef") {
			t.Errorf("%q: exit %d; the secret is in the message: %q", args, code, stderr)
		}
	}
	const part = "deadbeef"
	whole := strings.Repeat(part, 8)
	for name, text := range map[string]string{
		"too short":         whole[:56],
		"too long":          whole + "00",
		"no hex digit":      "x" + whole[1:],
		"two words":         whole + " " + whole,
		"another turn":      "spring 2 " + whole,
		"a key for a turn":  "spring " + whole + " 1",
		"a key for an id":   whole + "00 1 " + whole,
		"a key beside both": "spring 1 " + whole[:56],
		"two keys":          "spring 1 " + whole + "\nsummer 9 " + whole,
		"a large file":      strings.Repeat(whole+"\n", 100),
	} {
		path := commandtest.Write(t, "key", text+"\n")
		code, stdout, stderr := tollgate(t, "validate", "--offline", "--config", keysOf(t, path, path))
		if code == command.ExitOK || strings.Contains(stdout+stderr, part) {
			t.Errorf("%s: exit %d, %s%s", name, code, stdout, stderr)
		}
	}
}

// keysOf is a configuration with key files.
func keysOf(t *testing.T, noise, userHash string) string {
	t.Helper()
	return commandtest.DeploymentFile(t, "127.0.0.1:1", "secrets/noise.key", noise, "secrets/user-hash.key", userHash)
}

// Output that cannot be written ends in exit code 1, even if the error is seen only late.
func TestUnwritableStdout(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	defer full.Close()
	for _, args := range [][]string{{"version"}, {"demo", "--events", "100", "--windows", "2"}, {"demo", "--events",
		"100", "--windows", "2", "--format", "json"}} {
		a := &command.App{Stdout: full, Stderr: &errs, Getenv: os.Getenv}
		if code := command.Execute(context.Background(), a, rootCommand, args); code != command.ExitError {
			t.Errorf("%v: exit %d, stderr %q", args, code, errs.String())
		}
		if !strings.Contains(errs.String(), "writing output") {
			t.Errorf("%v: stderr %q", args, errs.String())
		}
		errs.Reset()
	}
}

// Names of columns and files are never raw in what a command writes.
func TestNoNameSteersTheTerminal(t *testing.T) {
	t.Parallel()
	const evil = "a\x1b[2J\r\u009b\u202e"
	for name, input := range map[string]string{
		"column.csv": "\"user" + evil + "\",page,when\nu1,home,2025-03-03\n", evil + ".jsonl": "a\n",
	} {
		args := []string{"demo", "--input", commandtest.Write(t, name, input), "--user-field", "user", "--time-field",
			"when", "--key-field", "page", "--window", "1h"}
		if strings.HasSuffix(name, ".csv") {
			args = append(args, "--header")
		}
		_, stdout, stderr := tollgate(t, args...)
		if text := stdout + stderr; strings.ContainsAny(text, "\x1b\r\u009b\u202e") || !utf8.ValidString(text) ||
			!strings.Contains(text, `a\x1b[2J`) {
			t.Errorf("%q: %q", name, text)
		}
	}
}
