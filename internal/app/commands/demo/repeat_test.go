package demo

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

var runName = regexp.MustCompile(`--repeat ([0-9a-f]{32}) `)

// shared counts the lines that two outputs have in common.
func shared(a, b string) (n int) {
	lines := strings.Split(strings.TrimSpace(a), "\n")
	for line := range strings.Lines(b) {
		if slices.Contains(lines, strings.TrimSpace(line)) {
			n++
		}
	}
	return n
}

// Two runs with one noise key share no noise, neither on one file nor on two that differ in one
// person: equal values would show with certainty whose data have not changed. Only --repeat gives
// an output again, and only for the same records and settings under the same key.
func TestRuleTwoRunsOfADemoShareNoNoise(t *testing.T) {
	t.Parallel()
	with := commandtest.People(t)
	text, err := os.ReadFile(with)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	one := commandtest.Write(t, "one.csv", strings.Join(slices.Delete(slices.Clone(lines), 7, 8), ""))
	moved := commandtest.Write(t, "moved.csv", lines[0]+strings.Join(slices.Concat(lines[2001:4001], lines[1:2001],
		lines[4001:]), ""))
	key, other := commandtest.Write(t, "key", strings.Repeat("1f", 32)+"\n"), commandtest.Write(t, "key",
		strings.Repeat("2e", 32)+"\n")
	args := func(path, key string, more ...string) []string {
		more = append(more, "--public-keys", "north,south,west", "--noise-key-file", key, "--format", "json", "--from",
			"2025-03-01", "--to", "2025-03-06")
		return commandtest.FileArgs(path, more...)
	}
	first, stderr := mustRun(t, args(with, key)...)
	name := runName.FindStringSubmatch(stderr)
	if name == nil || strings.Count(first, "\n") != 15 {
		t.Fatalf("stdout %s, stderr %s", first, stderr)
	}
	again, _ := mustRun(t, args(with, key)...)
	without, _ := mustRun(t, args(one, key)...)
	for what, n := range map[string]int{"the same file": shared(first, again), "without a person": shared(first,
		without), "the same file, then without": shared(again, without)} {
		if n > 0 {
			t.Errorf("%s: %d of 15 releases are the same", what, n)
		}
	}
	for _, path := range []string{with, moved} {
		if got, stderr := mustRun(t, args(path, key, "--repeat", name[1])...); got != first || !strings.Contains(stderr,
			"this run is "+name[1]) {
			t.Errorf("%s: another output: %s", filepath.Base(path), got)
		}
	}
	for what, refused := range map[string][]string{
		"without a person": args(one, key, "--repeat", name[1]), "another key": args(with, other, "--repeat", name[1]),
		"another setting": args(with, key, "--repeat", name[1], "--epsilon", "0.5"),
		"another range":   append(args(with, key, "--repeat", name[1]), "--to", "2025-03-07"),
	} {
		if code, stdout, stderr := run(t, refused...); code != command.ExitUsage || stdout != "" ||
			!strings.Contains(stderr, "that run had other records, other settings or another noise key") {
			t.Errorf("%s: exit %d, stdout %q, stderr %s", what, code, stdout, stderr)
		}
	}
}

// The same holds for a choice of bounds: its noise, too, is of one run.
func TestRuleADemoChoosesBoundsWithNoiseOfItsOwn(t *testing.T) {
	t.Parallel()
	long.Test(t)
	args := []string{"demo", "--header", "--user-field", "who", "--key-field", "what", "--time-field", "when",
		"--format", "json", "--input", manyUsers(t, 4000),
		"--noise-key-file", commandtest.Write(t, "noise.key", strings.Repeat("3c", 32)+"\n")}
	users := func(more ...string) (promise, stdout, name string) {
		stdout, stderr := mustRun(t, append(args, more...)...)
		found := runName.FindStringSubmatch(stderr)
		_, rest, chosen := strings.Cut(stderr, "chosen from noisy tallies")
		if promise, _, _ = strings.Cut(rest, "budget"); !chosen || found == nil {
			t.Fatalf("stderr %s", stderr)
		}
		return promise, stdout, found[1]
	}
	first, stdout, name := users()
	other := first
	for runs := 1; other == first; runs++ {
		if runs == 7 { // by chance: below 1e-10, since two runs agree less than once in 70
			t.Fatalf("%d runs choose with the same noise: %s", runs, first)
		}
		other, _, _ = users()
	}
	if promise, again, _ := users("--repeat", name); promise != first || again != stdout {
		t.Errorf("repeated: %s, was %s", promise, first)
	}
	// The range of the data, now given: another choice, also where the bounds are the same.
	if code, stdout, _ := run(t, append(args, "--repeat", name, "--from", "2025-03-03T00:00:00Z", "--to",
		"2025-03-03T01:00:00Z")...); code != command.ExitUsage || stdout != "" {
		t.Errorf("a choice in another range under the same name: exit %d, %s", code, stdout)
	}
}

// --repeat shows nothing of a choice for other records, which no budget has paid for: not even in
// a refusal of very many windows, whose number says which window was chosen.
func TestRuleARepeatedDemoSaysNothingOfAnotherChoice(t *testing.T) {
	t.Parallel()
	long.Test(t)
	path := manyUsers(t, 4000)
	args := []string{"demo", "--header", "--user-field", "who", "--key-field", "what", "--time-field", "when",
		"--format", "json",
		"--noise-key-file", commandtest.Write(t, "noise.key", strings.Repeat("3c", 32)+"\n")}
	_, stderr := mustRun(t, append(args, "--input", path)...)
	name := runName.FindStringSubmatch(stderr)
	text, err := os.ReadFile(path)
	if name == nil || err != nil {
		t.Fatal(stderr, err)
	}
	far := commandtest.Write(t, "far.csv", string(text)+"far,page1,9000-03-03T00:00:00Z,1\n")
	code, stdout, stderr := run(t, append(args, "--input", far, "--repeat", name[1])...)
	if code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, "that run had other records") ||
		strings.Contains(stderr, "its events are in") || strings.Contains(stderr, "chosen by") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr = run(t, append(args, "--input", far)...); code == command.ExitOK || !strings.Contains(stderr,
		"its events are in") {
		t.Errorf("without --repeat: exit %d, %s", code, stderr)
	}
}

// Nor does it say how many users there are if they are too few to choose a range of values by: two
// such runs would share noise where the tables of both files are alike.
func TestRuleARepeatedDemoSaysNothingOfTooFewUsers(t *testing.T) {
	t.Parallel()
	long.Test(t)
	args := append([]string{"demo", "--kind", "mean", "--value-field", "amount", "--format", "json", "--noise-key-file",
		commandtest.Write(t, "noise.key", strings.Repeat("3c", 32)+"\n")}, strings.Fields(ofOrders)...)
	_, stderr := mustRun(t, append(args, "--input", orders(t, 4000))...)
	name, few := runName.FindStringSubmatch(stderr), orders(t, 40)
	if name == nil {
		t.Fatal(stderr)
	}
	code, stdout, stderr := run(t, append(args, "--input", few, "--repeat", name[1])...)
	if code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, "that run had other records") ||
		strings.Contains(stderr, "users") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr = run(t, append(args, "--input", few)...); code != command.ExitUsage || !strings.Contains(stderr,
		"users are too few") {
		t.Errorf("without --repeat: exit %d, %s", code, stderr)
	}
}
