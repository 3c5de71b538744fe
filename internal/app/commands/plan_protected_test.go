package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// twoThousand is a file of users who do few things, and a key file.
func twoThousand(t *testing.T) (input, key string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("who,what,when\n")
	for u := range 2000 {
		fmt.Fprintf(&b, "person%d,page%d,2025-03-03T0%d:00:00Z\n", u, u%3, u%9)
	}
	key = write(t, "noise.key", strings.Repeat("7a", 32)+"\n")
	if err := os.Chmod(key, 0o600); err != nil {
		t.Fatal(err)
	}
	return write(t, "in.csv", b.String()), key
}

var planColumns = []string{"--header", "--user-field", "who", "--key-field", "what", "--time-field", "when", "--window", "1h"}

// What a protected plan prints is a function of its arguments and of the released tables, byte for
// byte: it prints the same after the contents of the file were replaced. The test asks every kind
// of question, in every output format.
func TestRuleAProtectedPlanPrintsWhatWasReleasedAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]string{
		"text":                {"--exact"},
		"json":                {"--format", "json"},
		"a key that is there": {"--key", "page1", "--within", "0.5"},
		"a key that is not":   {"--key", "rare"},
		"bounds":              {"--max-keys-per-user", "1", "--max-events-per-key", "1", "--last-at-least", "3"},
		"public keys":         {"--public-keys", "page0,page1"},
		"a range":             {"--from", "2025-03-03", "--to", "2025-03-04"},
		"too small a share":   {"--spend-share", "0.0001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			input, key := twoThousand(t)
			page := filepath.Join(t.TempDir(), "plan.html")
			args := append([]string{"plan", "--input", input, "--spend-share", "0.2", "--noise-key-file", key, "--report", page}, planColumns...)
			args = append(args, more...)
			code, stdout, stderr := run(t, args...)
			if strings.HasPrefix(name, "a key that is not") != (code == exitUsage) || strings.HasPrefix(name, "too small") != (code == exitError) {
				t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
			}
			html, _ := os.ReadFile(page)
			if err := os.Remove(page); err != nil && code == exitOK {
				t.Fatal(err)
			}
			if err := os.WriteFile(input, []byte("who,what,when\nsomebody else,elsewhere,2031-01-01T00:00:00Z\n\"broken"), 0o600); err != nil {
				t.Fatal(err)
			}
			code2, stdout2, stderr2 := run(t, args...)
			html2, _ := os.ReadFile(page)
			if code2 != code || stdout2 != stdout || untried(stderr2) != untried(stderr) || string(html2) != string(html) {
				t.Errorf("what is printed depends on more than what was released: exit %d and %d\n%s%s\n%s%s", code, code2, stdout, stderr, stdout2, stderr2)
			}
			if record, err := os.ReadFile(key + ".planned"); err != nil || strings.Count(string(record), `"mu2"`) != 1 {
				t.Errorf("the record is %q, %v", record, err)
			}
		})
	}
}

func TestAProtectedPlanThatIsMadeAgainIsPaidAgain(t *testing.T) {
	t.Parallel()
	input, key := twoThousand(t)
	args := append([]string{"plan", "--input", input, "--spend-share", "0.4", "--noise-key-file", key, "--exact"}, planColumns...)
	first, _ := mustRun(t, args...)
	if !strings.HasPrefix(first, "PROTECTED: every user in these events has paid 40 %") || !strings.Contains(first, "planned: 0.4") {
		t.Error(first)
	}
	if second, _ := mustRun(t, append(args, "--choose-again")...); second == first {
		t.Error("another choice is the same")
	}
	if code, stdout, stderr := run(t, append(args, "--choose-again")...); code != exitError || stdout != "" || !strings.Contains(stderr, "have spent 80 % of it") {
		t.Errorf("120 %% of the promise: exit %d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr := run(t, append([]string{"plan", "--input", input, "--choose-again"}, planColumns...)...); code != exitUsage || !strings.Contains(stderr, "is only used with --spend-share") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

func TestAProtectedPlanThatCannotBeChargedShowsNothing(t *testing.T) {
	t.Parallel()
	input, key := twoThousand(t)
	if err := os.Mkdir(key+".planned", 0o700); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t, append([]string{"plan", "--input", input, "--spend-share", "0.2", "--noise-key-file", key}, planColumns...)...)
	if code != exitError || stdout != "" || !strings.Contains(stderr, filepath.Base(key)+".planned") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestAProtectedPlanNeedsWhatItCannotChoose(t *testing.T) {
	t.Parallel()
	input, key := twoThousand(t)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--spend-share", "0.1"}, "--noise-key-file"},
		{[]string{"--spend-share", "1.5", "--noise-key-file", key}, "above 0 and below 1"},
		{[]string{"--spend-share", "0.1", "--noise-key-file", key, "--window", "2h"}, "exactly one --window"},
		{[]string{"--noise-key-file", key}, "is only used with --spend-share"},
	} {
		code, stdout, stderr := run(t, append(append([]string{"plan", "--input", input}, planColumns...), tc.args...)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, tc.want) {
			t.Errorf("%v: exit %d, stderr %q", tc.args, code, stderr)
		}
	}
}

// A deployment that is planned by its own topic, with a share of its promise, begins only if it
// knows of that; and once it has begun no share is left to spend.
func TestRuleADeploymentBeginsOnlyKnowingWhatPlansSpent(t *testing.T) {
	t.Parallel()
	addr := broker(t)
	other := deploymentFile(t, addr, "deployment: shop", "deployment: other")
	mustRun(t, "init", "--create-topics", "--event-partitions", "3", "--generate-keys", "--config", other)
	mustRun(t, "replay", "--config", other, "--input", visits(t, true), "--header")

	cfg := deploymentFile(t, addr)
	plan := []string{"plan", "--config", cfg, "--spend-share", "0.1", "--from", "2025-03-01", "--to", "2025-03-05"}
	if code, _, stderr := run(t, plan...); code != exitConfig || !strings.Contains(stderr, "there is no key in") {
		t.Errorf("without a key: exit %d, %s", code, stderr)
	}
	secrets := filepath.Join(filepath.Dir(cfg), "secrets")
	if err := os.Mkdir(secrets, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(secrets, "noise.key"), []byte(strings.Repeat("5b", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr := mustRun(t, plan...)
	if !strings.HasPrefix(stdout, "PROTECTED: every user") || strings.Contains(stdout+stderr, "person") {
		t.Errorf("%s%s", stdout, stderr)
	}
	if again, _ := mustRun(t, plan...); again != stdout {
		t.Error("the same plan again is another one")
	}
	begin := []string{"init", "--create-topics", "--generate-keys", "--config"}
	for _, command := range [][]string{append(begin, cfg), {"validate", "--config", cfg}} {
		if code, _, stderr := run(t, command...); code != exitConfig || !strings.Contains(stderr, "write privacy.planned: 0.1") || strings.Contains(stderr, "made topic") {
			t.Errorf("%s of a deployment that knows of nothing: exit %d, %s", command[0], code, stderr)
		}
	}
	text, err := os.ReadFile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cfg, []byte(strings.Replace(string(text), "delta: 1e-6}", "delta: 1e-6, planned: 0.1}", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if stdout, _ := mustRun(t, append(begin, cfg)...); !strings.Contains(stdout, "10 % of the promise is already spent") {
		t.Errorf("init says\n%s", stdout)
	}
	// The record says so, and so do the topics where the record is lost.
	for _, when := range []string{"after the beginning", "without the record"} {
		if code, stdout, stderr := run(t, "plan", "--config", cfg, "--spend-share", "0.2"); code != exitError || stdout != "" || !strings.Contains(stderr, "has begun with this noise key") {
			t.Errorf("%s: exit %d, %s%s", when, code, stdout, stderr)
		}
		if err := os.RemoveAll(filepath.Join(secrets, "noise.key.planned")); err != nil {
			t.Fatal(err)
		}
	}
}

// What is spent under a key to which a deployment is rotated later is in no promise of it.
func TestRuleADeploymentIsRotatedToNoKeyThatHasPaid(t *testing.T) {
	t.Parallel()
	cfg := deploymentFile(t, broker(t))
	mustRun(t, "init", "--create-topics", "--event-partitions", "1", "--generate-keys", "--config", cfg)
	input, _ := twoThousand(t)
	second := filepath.Join(filepath.Dir(cfg), "secrets", "second.key")
	if err := os.WriteFile(second, []byte(strings.Repeat("6c", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := append([]string{"plan", "--input", input, "--spend-share", "0.2", "--noise-key-file", second}, planColumns...)
	mustRun(t, plan...)
	edit(t, cfg, "noise: {file: secrets/noise.key}", "noise: {id: second, file: secrets/second.key}")
	if code, stdout, stderr := run(t, "change", "--config", cfg); code == exitOK || !strings.Contains(stderr, "rotate to another noise key") {
		t.Errorf("rotated to a key that has paid: exit %d, %s%s", code, stdout, stderr)
	}
	if err := os.Remove(second + ".planned"); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "change", "--config", cfg)
	if code, stdout, stderr := run(t, plan...); code != exitError || stdout != "" || !strings.Contains(stderr, "has begun with this noise key") {
		t.Errorf("a plan after the change: exit %d, %s%s", code, stdout, stderr)
	}
}

// What cannot end well is refused before users pay for it.
func TestAProtectedPlanThatCannotEndWellIsNotCharged(t *testing.T) {
	t.Parallel()
	input, key := twoThousand(t)
	args := append([]string{"plan", "--input", input, "--spend-share", "0.2", "--noise-key-file", key}, planColumns...)
	for want, more := range map[string][]string{
		"too many windows":      {"--from", "1970-01-02", "--to", "2600-01-01"},
		"there is no directory": {"--report", filepath.Join(t.TempDir(), "none", "plan.html")},
		"is a directory":        {"--report", t.TempDir()},
		"ordinary file":         {"--noise-key-file", fifo(t, strings.Repeat("7a", 32)+"\n")},
	} {
		if code, stdout, stderr := run(t, append(args, more...)...); code == exitOK || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("exit %d, %q is not said: %s%s", code, want, stdout, stderr)
		}
	}
	if exists(key + ".planned") {
		t.Error("users have paid, and nothing can be shown for it")
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
	code, _, stderr := run(t, append([]string{"plan", "--input-format", "csv", "--input", fifo(t, "who,what,when\na,b,never\n")}, planColumns...)...)
	if code != exitError || !strings.Contains(stderr, "no record of") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// A range of which only the end is given does not begin in 1970.
func TestAProtectedPlanUpToATime(t *testing.T) {
	t.Parallel()
	input, key := twoThousand(t)
	args := append([]string{"plan", "--input", input, "--spend-share", "0.2", "--noise-key-file", key}, planColumns...)
	for want, more := range map[string][]string{" to 2025-03-31 23:00": {"--to", "2025-04-01"}, " 2025-03-01 00:00 to ": {"--from", "2025-03-01"}} {
		if code, stdout, stderr := run(t, append(args, more...)...); code != exitOK || !strings.Contains(stdout, want) || strings.Contains(stdout, "1970") {
			t.Errorf("exit %d, %q is not said: %s%s", code, want, stdout, stderr)
		}
	}
}

// A broker that does not answer is no deployment that has begun.
func TestAProtectedPlanWithoutABrokerSaysSo(t *testing.T) {
	t.Parallel()
	cfg := deploymentFile(t, "127.0.0.1:1")
	madeKeys(t, cfg, 0o600)
	code, stdout, stderr := run(t, "plan", "--config", cfg, "--spend-share", "0.2")
	if code != exitError || stdout != "" || strings.Contains(stderr, "has begun") || !strings.Contains(stderr, "check that the broker is running") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
}

// untried returns what plan prints without its progress, which it says every two seconds.
func untried(output string) string {
	return regexp.MustCompile(`(?m)^.*\d+ settings? tried\n`).ReplaceAllString(output, "")
}
