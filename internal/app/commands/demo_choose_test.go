package commands

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// manyUsers is a file of users who each look at five pages once, in one window.
func manyUsers(t *testing.T, users int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("who,what,when\n")
	for u := range users {
		for page := range 5 {
			fmt.Fprintf(&b, "u%d,page%d,2025-03-03T00:%02d:00Z\n", u, page, u%60)
		}
	}
	return write(t, "many.csv", b.String())
}

// choosing returns the bounds that a demo chooses for a file of manyUsers with the noise of a
// constant key: keys per user and events per key.
func choosing(t *testing.T, path string) (keys, events int) {
	t.Helper()
	f := &demoFlags{
		inputFlags: inputFlags{input: path, inputFormat: "csv", header: true, userField: "who", keyField: "what", timeField: "when", timeUnit: "rfc3339"},
		window:     time.Hour, epsilon: 1, delta: 1e-6, accountant: "gdp", relative: .1, confidence: .95,
		maxKeysPerUser: 2, maxEventsPerKey: 2, lastAtLeast: 24, chooses: true,
	}
	j := &job{flags: f}
	var err error
	if j.settings, j.deployment, err = f.settings(nil); err != nil {
		t.Fatal(err)
	}
	source, err := demo.OpenFile(f.fileOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close() //nolint:errcheck // it was only read
	j.source = source
	if err := j.chooseBounds(t.Context(), noisereduction.NoiseKey{ID: "k", Secret: secret.New([32]byte{3})}); err != nil {
		t.Fatal(err)
	}
	return j.settings.MaxKeysPerUser, j.settings.MaxEventsPerKey
}

// Without --from and --to the range of windows follows from the data, and one record can stretch
// it. The bounds, which decide what becomes of everybody's records, do not follow from that range.
func TestRuleOneRecordFarAwayChangesNoBoundOfADemo(t *testing.T) {
	t.Parallel()
	near := manyUsers(t, 4000)
	text, err := os.ReadFile(near)
	if err != nil {
		t.Fatal(err)
	}
	if keys, events := choosing(t, near); keys != 5 || events != 1 {
		t.Errorf("%d keys and %d events, want 5 and 1", keys, events)
	}
	for _, day := range []string{"2027-03-03", "2023-03-03"} { // 17,500 windows
		far := write(t, "far.csv", string(text)+"far,page1,"+day+"T00:00:00Z\n")
		if keys, _ := choosing(t, far); keys < 5 { // where 4,000 users spread over the range, 1 or 2
			t.Errorf("with a record of %s: %d keys, want 5 or more", day, keys)
		}
	}
}

func TestRuleADemoWithoutBoundsPaysForChoosingThem(t *testing.T) {
	t.Parallel()
	args := []string{"demo", "--header", "--user-field", "who", "--key-field", "what", "--time-field", "when"}
	code, stdout, stderr := run(t, append(args, "--input", manyUsers(t, 4000))...)
	if code != exitOK || !strings.Contains(stdout, "chosen by noisy tables") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	threshold := func(text string) string {
		_, rest, _ := strings.Cut(text, "released from about ")
		number, _, _ := strings.Cut(rest, " ")
		return number
	}
	number := func(after string) (n int) {
		_, rest, _ := strings.Cut(stdout, after)
		if _, err := fmt.Sscan(rest, &n); err != nil {
			t.Fatalf("%v\n%s", err, stdout)
		}
		return n
	}
	keys, events, windows := number("at most "), number("per window and "), number("can take part in at least ")
	if got, want := threshold(stdout), thresholdOf(t, keys, events, windows, choiceShare); got != want {
		t.Errorf("with a choice a key is released from %s on, and from %s with what it leaves", got, want)
	}
	if promise, _, _ := strings.Cut(stdout, "window (UTC)"); strings.Contains(promise, "4000") || strings.Contains(promise, "4,000 ") {
		t.Errorf("the number of users is printed:\n%s", promise)
	}
	few := manyUsers(t, 30) // that they look like 650 has a probability of 1e-6
	code, stdout, _ = run(t, append(args, "--input", few)...)
	if code != exitOK || !strings.Contains(stdout, "at most 2 keys per window and 2 events per key") || !strings.Contains(stdout, "users are too few") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	code, given, _ := run(t, append(args, "--input", few, "--max-keys-per-user", "2")...)
	if code != exitOK || strings.Contains(given, "chosen") || strings.Contains(given, "too few") {
		t.Errorf("exit %d\n%s", code, given)
	}
	// Looking took a part of the budget, also where it led to nothing.
	if looked, without := threshold(stdout), threshold(given); looked != thresholdOf(t, 2, 2, 24, choiceShare) || without != thresholdOf(t, 2, 2, 24, 0) || looked == without {
		t.Errorf("a key is released from %s on after looking, from %s without", looked, without)
	}
}

// thresholdOf is what a demo prints of a key's release where a share of the promise was spent.
func thresholdOf(t *testing.T, keys, events, windows int, spent float64) string {
	t.Helper()
	d, err := demo.Settings{
		Epsilon: 1, Delta: 1e-6, Accountant: "gdp", Window: time.Hour, Target: noisereduction.Target{Relative: 0.1, Confidence: 0.95},
		MaxKeysPerUser: keys, MaxEventsPerKey: events, LastAtLeast: windows, Planned: spent,
	}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return terminal.Number(math.Ceil(d.Metrics[0].Plan.Threshold()), 0)
}

func TestADemoEndsWithTheChangeThatWouldHelpMost(t *testing.T) {
	t.Parallel()
	args := []string{"demo", "--header", "--user-field", "who", "--key-field", "what", "--time-field", "when", "--input", manyUsers(t, 4000), "--max-events-per-key", "1", "--last-at-least", "1"}
	_, _, stderr := run(t, append(args, "--max-keys-per-user", "1")...)
	if !strings.Contains(stderr, "what would help most") || !strings.Contains(stderr, "--max-keys-per-user 5: 100 % of the events in what comes out, now 100 %; error ") {
		t.Errorf("stderr:\n%s", stderr)
	}
	if _, _, stderr = run(t, append(args, "--max-keys-per-user", "5")...); strings.Contains(stderr, "what would help most") {
		t.Errorf("nothing more is needed, and stderr is:\n%s", stderr)
	}
}
