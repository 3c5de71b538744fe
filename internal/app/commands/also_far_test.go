package commands

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// fourEach writes a CSV file of four events of each of 600 users on one day.
func fourEach(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.csv")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := csv.NewWriter(file)
	write := func(row ...string) {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	write("who", "when", "size")
	for u := range 600 {
		for n := range 4 {
			write(fmt.Sprintf("u%d", u), fmt.Sprintf("2025-03-03T%02d:%02d:00Z", n, u%60), strconv.Itoa(40+u%20))
		}
	}
	if w.Flush(); w.Error() != nil {
		t.Fatal(w.Error())
	}
	return path
}

// The bounds count one of four events of each user: the mean is nearly right, but the number of
// events is not. A demo warns of that, with a command that counts all of them. The table of plan
// has the error of each statistic beside the mean.
func TestDemoWarnsOfAStatisticThatLacksEvents(t *testing.T) {
	t.Parallel()
	path := fourEach(t)
	fields := []string{"--input", path, "--header", "--user-field", "who", "--time-field", "when", "--value-field", "size", "--kind", "mean", "--also", "events",
		"--window", "1d", "--min", "0", "--max", "100", "--epsilon", "20"}
	warning := regexp.MustCompile(`WARNING: the number of events beside the mean is forecast to be off by 7[0-9.]+ % \(noise [0-9.]+ %, events left out 7[0-9.]+ %\)`)
	few := append([]string{"demo", "--max-keys-per-user", "1", "--max-events-per-key", "1", "--last-at-least", "1"}, fields...)
	_, stderr := mustRun(t, few...)
	if !warning.MatchString(stderr) || !strings.Contains(stderr, "the number of events is typically off by 7") {
		t.Fatalf("no warning:\n%s", stderr)
	}
	_, command, found := strings.Cut(stderr, "what would help most (chosen by looking at the file): ")
	_, command, _ = strings.Cut(command, ", with\n")
	if !found {
		t.Fatalf("no command:\n%s", stderr)
	}
	command, _, _ = strings.Cut(strings.ReplaceAll(strings.TrimSpace(command), "\\\n", " "), "\n")
	_, stderr = mustRun(t, shellWords(t, command)...)
	if strings.Contains(stderr, "WARNING: the number of events") || !regexp.MustCompile(`the number of events is typically off by [0-9]?(\.[0-9]+)? %`).MatchString(stderr) {
		t.Errorf("%s:\n%s", command, stderr)
	}
	stdout, _ := mustRun(t, append([]string{"plan", "--max-events-per-key", "1"}, fields...)...)
	if !regexp.MustCompile(`lost +error of the number of events\n.*  7[0-9.]+ %\n`).MatchString(stdout) {
		t.Errorf("the table has no error of the number of events:\n%s", stdout)
	}
}

// Where nothing is released, the demo says so and why, and compares no statistic with the file.
// Where plan names what more could be shown, it says what that does to the statistics beside the
// value.
func TestDemoOfNothingComparesNoStatistics(t *testing.T) {
	t.Parallel()
	fields := []string{"--input", fourEach(t), "--header", "--user-field", "who", "--time-field", "when", "--value-field", "size", "--kind", "mean", "--also", "events",
		"--window", "1d", "--min", "0", "--max", "100"}
	_, stderr := mustRun(t, append([]string{"demo", "--epsilon", "0.001", "--max-keys-per-user", "1", "--max-events-per-key", "1", "--last-at-least", "9", "--keys", "private"}, fields...)...)
	for text, want := range map[string]bool{"nothing was released": true, "why: ": true, "single cause": false, "off by": false} {
		if strings.Contains(stderr, text) != want {
			t.Errorf("%q: want %v in\n%s", text, want, stderr)
		}
	}
	stdout, _ := mustRun(t, append([]string{"plan", "--epsilon", "0.01"}, fields...)...)
	_, more, _ := strings.Cut(strings.Join(strings.Fields(stdout), " "), "What could be shown")
	if !regexp.MustCompile(`- .*then typically [^;]*; number of events beside it: [0-9.]+ % \(noise`).MatchString(more) {
		t.Errorf("what could be shown says nothing of the number of events:\n%s", stdout)
	}
}
