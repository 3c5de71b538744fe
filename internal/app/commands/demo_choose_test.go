package commands

import (
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
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
// constant key: keys per user and events per key, and the window.
func choosing(t *testing.T, path string) (keys, events int, window time.Duration) {
	t.Helper()
	f := &demoFlags{
		inputFlags: inputFlags{input: path, inputFormat: "csv", header: true, userField: "who", keyField: "what", timeField: "when", times: timeFlags{unit: "rfc3339"},
			kindFlags: kindFlags{kind: "events"}},
		window: 24 * time.Hour, epsilon: 1, delta: 1e-6, accountant: "gdp", relative: .1, confidence: .95,
		maxKeysPerUser: 2, maxEventsPerKey: 2, lastAtLeast: 24, chooses: true, given: func(string) bool { return false },
	}
	j := &job{flags: f, progress: terminal.NewProgress(io.Discard, false, time.Now)}
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
	return j.settings.MaxKeysPerUser, j.settings.MaxEventsPerKey, j.settings.Window
}

// Without --from and --to the range of windows follows from the data, and one record can stretch
// it. Bounds and windows, which decide what becomes of everybody's records, do not follow from that
// range.
func TestRuleOneRecordFarAwayChangesNoBoundOfADemo(t *testing.T) {
	t.Parallel()
	near := manyUsers(t, 4000)
	text, err := os.ReadFile(near)
	if err != nil {
		t.Fatal(err)
	}
	keys, events, window := choosing(t, near)
	if keys < 5 || keys > 20 || events > 3 { // by a noisy choice
		t.Errorf("%d keys and %d events, want 5 to 20 and 1 to 3", keys, events)
	}
	for _, day := range []string{"2027-03-03", "2023-03-03"} { // 17,500 windows
		far := write(t, "far.csv", string(text)+"far,page1,"+day+"T00:00:00Z\n")
		if keys, _, size := choosing(t, far); keys < 5 || size != window { // where 4,000 users spread over the range, 1 or 2
			t.Errorf("with a record of %s: %d keys and windows of %s, want 5 or more and %s", day, keys, size, window)
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
		_, rest, _ := strings.Cut(text, "more than about ")
		number, _, _ := strings.Cut(rest, " ")
		return number
	}
	number := func(pattern string) int {
		found := regexp.MustCompile(pattern).FindStringSubmatch(stdout)
		if found == nil {
			t.Fatalf("no %s in\n%s", pattern, stdout)
		}
		n, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	keys, events, windows := number(`at most (\d+) keys?`), number(`per window and (\d+) events?`), number(`can take part in at least (\d+)`)
	if got, want := threshold(stdout), thresholdOf(t, keys, events, windows, choiceShare, 0); got != want {
		t.Errorf("with a choice a key is released from %s on, and from %s with what it leaves", got, want)
	}
	if promise, _, _ := strings.Cut(stdout, "window (UTC)"); strings.Contains(promise, "4000") || strings.Contains(promise, "4,000 ") {
		t.Errorf("the number of users is printed:\n%s", promise)
	}
	few := manyUsers(t, 30) // that they look like 650 has a probability of 1e-6
	code, stdout, _ = run(t, append(args, "--input", few)...)
	if code != exitOK || !strings.Contains(stdout, "at most 2 keys per window and 2 events per key count") || !strings.Contains(stdout, "users are too few") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	code, given, _ := run(t, append(args, "--input", few, "--max-keys-per-user", "2", "--max-events-per-key", "2", "--last-at-least", "24")...)
	if code != exitOK || strings.Contains(given, "chosen") || strings.Contains(given, "too few") {
		t.Errorf("exit %d\n%s", code, given)
	}
	// Looking took a part of the budget, also where it led to nothing.
	if looked, without := threshold(stdout), threshold(given); looked != thresholdOf(t, 2, 2, 24, choiceShare, 0.1) || without != thresholdOf(t, 2, 2, 24, 0, 0.1) || looked == without {
		t.Errorf("a key is released from %s on after looking, from %s without", looked, without)
	}
}

// thresholdOf is what a demo prints of a key's release where a share of the promise was spent.
func thresholdOf(t *testing.T, keys, events, windows int, spent, relative float64) string {
	t.Helper()
	d, err := demo.Settings{
		Epsilon: 1, Delta: 1e-6, Accountant: "gdp", Window: time.Hour, Target: noisereduction.Target{Relative: relative, Confidence: 0.95},
		MaxKeysPerUser: keys, MaxEventsPerKey: events, LastAtLeast: windows, Planned: spent,
	}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return terminal.Number(math.Ceil(d.Metrics[0].Plan.Threshold()), 0)
}

// A choice spends a share of B² and of δ_keys. Both follow from the part of δ for private keys, so
// that neither the tables nor the advice that is made of them can change that part.
func TestRuleAChoiceLeavesTheDeltaOfKeysAsItWas(t *testing.T) {
	t.Parallel()
	c := sample.NewCollector(sample.Options{Step: time.Hour})
	for u := range 42 { // near the threshold, which a larger part of δ lowers
		c.AddN([]byte{byte(u)}, []byte("page"), time.Hour.Milliseconds(), 0, 1)
	}
	events := c.Sample()
	for name, of := range map[string]struct {
		planned, deltaKeys float64
		keys               []string
		want               float64
	}{
		"free":        {want: 3e-7},
		"public keys": {planned: 0.05, keys: []string{"page"}},
		"a demo":      {planned: 0.05, deltaKeys: 2e-7, want: 2e-7},
		"a plan":      {planned: 0.05, want: 1e-7},
	} {
		f := &demoFlags{
			inputFlags: inputFlags{input: "in.csv", keyField: "what", kindFlags: kindFlags{kind: "events"}}, epsilon: 0.5, delta: 1e-6, deltaKeys: of.deltaKeys,
			accountant: "gdp", confidence: 0.95, planned: of.planned, given: func(string) bool { return false },
		}
		answer, err := advice.Answer(t.Context(), f.question(events, []time.Duration{time.Hour}, of.keys))
		if err != nil {
			t.Fatal(err)
		}
		if got := answer.Block.Point.DeltaKeys; got != of.want {
			t.Errorf("%s: private keys get %v of δ, want %v", name, got, of.want)
		}
	}
}

// Windows of a size that is chosen do not reach beyond an end of the range that was given: they
// would count events that the holder left out, and that the choice does not know.
func TestRuleChosenWindowsDoNotReachBeyondAGivenEnd(t *testing.T) {
	at := func(text string) (v timeValue) {
		if err := v.Set(text); err != nil {
			t.Fatal(err)
		}
		return v
	}
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		from, to string
		layout   timeLayout
		want     []time.Duration
	}{
		"a Thursday":               {from: "2025-01-02", want: []time.Duration{time.Hour, 6 * time.Hour, day, 7 * day}},
		"a Friday":                 {from: "2025-01-03", want: []time.Duration{time.Hour, 6 * time.Hour, day}},
		"up to a noon":             {to: "2025-01-02T12:00:00Z", want: []time.Duration{time.Hour, 6 * time.Hour}},
		"within an hour":           {from: "2025-01-02T12:30:00Z", want: []time.Duration{time.Hour}}, // which --from refuses
		"the whole of time":        {want: advice.Usual},
		"dates":                    {layout: "%d.%m.%Y", want: advice.Usual[2:]},
		"dates of three days":      {from: "2025-01-03", to: "2025-01-06", layout: "%d.%m.%Y", want: []time.Duration{day}},
		"dates from a noon on":     {from: "2025-01-02T12:00:00Z", layout: "%d.%m.%Y", want: []time.Duration{time.Hour}},
		"dates with hours":         {layout: "%d.%m.%Y %H h", want: advice.Usual},
		"dates of different zones": {layout: "%d.%m.%Y %z", want: advice.Usual},
	} {
		f := &demoFlags{inputFlags: inputFlags{input: "some.csv"}, given: func(string) bool { return false }}
		if c.from != "" {
			f.from = at(c.from)
		}
		if c.to != "" {
			f.to = at(c.to)
		}
		f.times.layout = c.layout
		f.window = f.baseWindow()
		if got := f.sizes(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestAnAdviceHelps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		best, now, came float64
		want            bool
	}{
		{0.2, 0.3, 0.3, true}, {0.29, 0.3, 0.3, false}, // much better, and hardly
		{0.24, 0.28, 0.3, true}, {0.24, 0.28, 0.2, false}, {0.24, 0.25, 0.26, true}, {0.24, 0.24, 0.26, false}, // it makes values useful that are not
		{0.08, 0.12, 0.12, true}, {0.11, 0.12, 0.12, false},
	} {
		if helps(c.best, c.now, c.came) != c.want {
			t.Errorf("%+v", c)
		}
	}
}
