package commands

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

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
	path = write(t, "visits.csv", b.String())
	return path, []string{"--input", path, "--header", "--user-field", "who", "--key-field", "where", "--time-field", "when"}
}

// The words that are read first need no theory; all that is made of raw data is marked.
func TestPlanIsReadWithoutTheTheory(t *testing.T) {
	t.Parallel()
	_, fields := fileOf(t)
	stdout, stderr := mustRun(t, append([]string{"plan", "--window", "1d"}, fields...)...)
	for _, want := range []string{
		"TRUSTED: made from raw data: not for publication.", "6,000 events, 2025-03-03 00:00 to 2025-03-05 00:00", "1 record: no user, key or time",
		"finest noise", "typical error", "ε, in windows of 1d", "LEAST ERROR IN WINDOWS OF 1d: typically within ", "of the real count; ",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in:\n%s", want, stdout)
		}
	}
	for _, theory := range []string{"σ", "threshold", "μ", "ρ"} {
		if strings.Contains(stdout, theory) {
			t.Errorf("%q is in:\n%s", theory, stdout)
		}
	}
	// progress comes from a slow machine only
	if !regexp.MustCompile(`^broken: 1 bad_timestamp time: line 6,002; line 6,002 is like xxxxxx-xxxxxx,/xxxx-9,xxxxx\n([0-9,]+ settings? tried\n)*$`).MatchString(stderr) {
		t.Errorf("stderr %s", stderr)
	}
	for _, line := range strings.Split(stdout, "\n") {
		if n := len([]rune(line)); n > 80 && !strings.Contains(line, path(fields)) {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func path(fields []string) string { return fields[1] }

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
// the demo takes the command that stands below it, and shows what was said.
func TestTheSettingOfPlanIsTaken(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "example.yaml"))
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
		"file":    {"--window", "1d", "--public-keys", write(t, "pages.txt", "/page-0\n/page-2\n")},
	} {
		if name != "private" && !long.On() {
			continue
		}
		a := planJSON(t, append(more, fields...)...)
		b := a.Best
		stdout, stderr := mustRun(t, "validate", "--offline", "--config", write(t, "tollgate.yaml", rest+"\n"+a.YAML))
		if !strings.Contains(stdout, "1d") || !strings.Contains(stdout, fmt.Sprintf("(%v, 1e-06)", b.Epsilon)) || strings.Contains(stderr, "warning") {
			t.Errorf("%s: %s%s", name, stdout, stderr)
		}
		stdout, stderr = mustRun(t, append(shellWords(t, a.Demo), "--format", "json")...)
		shown := strings.Count(stdout, "\n")
		if said := b.Shown; float64(shown) < said-2 || float64(shown) > said+2 {
			t.Errorf("%s: %s: %d values, said %.1f\n%s", name, a.Demo, shown, said, stderr)
		}
	}
}

// shellWords takes a command apart, of which plan quotes what has to be.
func shellWords(t *testing.T, command string) []string {
	t.Helper()
	rest, ok := strings.CutPrefix(command, "tollgate ")
	if !ok {
		t.Fatalf("%q", command)
	}
	var words []string
	for _, w := range regexp.MustCompile(`'[^']*'|[^ ]+`).FindAllString(rest, -1) {
		words = append(words, strings.Trim(w, "'"))
	}
	return words
}

func TestShellWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a.csv": "a.csv", "": "''", "two words": "'two words'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "/cart,über": "'/cart,über'",
	} {
		if got := shellWord(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got, want := publicKeysYAML(`a: b,"c"`, []string{`"c"`, "a: b"}), `{mode: public, list: ["\"c\"", "a: b"]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := folded("tollgate demo --input "+strings.Repeat("x", 50)+" --header --window 1h", "    "); got != "    tollgate demo --input "+strings.Repeat("x", 50)+" \\\n      --header --window 1h" {
		t.Errorf("%s", got)
	}
}

// What is wrong with a command line names the flag; a file without a usable record is told.
func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	_, fields := fileOf(t)
	with := func(more ...string) []string { return append(append([]string{"plan"}, fields...), more...) }
	broken := write(t, "broken.csv", "who,where,when\na,b,soon\n")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"plan"}, exitUsage, "--input"},
		{with("--window", "soon"), exitUsage, "--window"},
		{with("--absolute", "-1"), exitUsage, "--absolute is -1"},
		{with("--window", "1d", "--from", "2025-03-03T01:00:00Z"), exitUsage, "--from"},
		{with("--key-field", "whree"), exitError, `"whree"`},
		{[]string{"plan", "--input", broken, "--header", "--user-field", "who", "--key-field", "where", "--time-field", "when"}, exitError, "1 of 1 record (100 %) are broken (1 bad_timestamp time): check --time-field when and --time-unit text"},
		{[]string{"plan", "--input", write(t, "none.csv", "who,where,when\n"), "--header", "--user-field", "who", "--key-field", "where", "--time-field", "when"}, exitError, "none.csv has no records"},
		{with("--from", "2030-01-01", "--to", "2030-01-02"), exitError, "lies outside of --from and --to"},
	} {
		code, stdout, stderr := run(t, c.args...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d, stdout %q, stderr %s", c.args[1:], code, stdout, stderr)
		}
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

// A pipe of which nothing can be used is not opened again: that would wait for ever.
func TestPlanReadsAPipeOnce(t *testing.T) {
	t.Parallel()
	code, _, stderr := run(t, "plan", "--input-format", "csv", "--input", fifo(t, "who,what,when\na,b,never\n"), "--header", "--user-field", "who", "--key-field", "what", "--time-field", "when", "--window", "1h")
	if code != exitError || !strings.Contains(stderr, "no record of") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}
