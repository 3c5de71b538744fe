package demo

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// manyUsers is a file of users who each look at five pages once, in one window.
func manyUsers(t *testing.T, users int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("who,what,when,value\n")
	for u := range users {
		for page := range 5 {
			fmt.Fprintf(&b, "u%d,page%d,2025-03-03T00:%02d:00Z,%d\n", u, page, u%60, u)
		}
	}
	return commandtest.Write(t, "many.csv", b.String())
}

// choosing returns the settings that a demo chooses for a file of manyUsers with the noise of a
// constant key.
func choosing(t *testing.T, path string, args ...string) demo.Settings {
	t.Helper()
	f, cmd := &demoFlags{}, &cobra.Command{}
	f.register(cmd)
	err := cmd.ParseFlags(append([]string{"--input", path, "--input-format", "csv", "--header", "--user-field", "who",
		"--time-field", "when"}, args...))
	if err == nil {
		err = f.check(cmd.Flags().Changed)
	}
	if err != nil {
		t.Fatal(args, err)
	}
	j := &job{flags: f, page: &command.Page{}, progress: terminal.NewProgress(io.Discard, time.Now)}
	if err := j.compile(); err != nil {
		t.Fatal(args, err)
	}
	source, err := demo.OpenFile(f.fileOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close() //nolint:errcheck // it was only read
	j.source = source
	if err := j.choose(noisereduction.NoiseKey{ID: "k", Secret: secret.New([32]byte{3})}); err != nil {
		t.Fatal(args, err)
	}
	return f.Settings
}

// Whatever ε is usual, there are settings to choose from, for every kind and both sorts of keys.
func TestSettingsAreFoundForEveryEpsilon(t *testing.T) {
	t.Parallel()
	path := manyUsers(t, 30)
	for _, kind := range metrickind.Offered() {
		flags := []string{"--kind", kind.Name}
		if kind.Values() {
			flags = append(flags, "--value-field", "value", "--min", "-100", "--max", "400")
		}
		for _, keys := range [][]string{{"--key-field", "what"}, {"--key-field", "what", "--public-keys",
			"page0,page1"}} {
			if kind.NotPrivate != "" && len(keys) == 2 {
				continue
			}
			for _, epsilon := range []string{".05", "2", "20"} {
				args := slices.Concat(flags, keys, []string{"--epsilon", epsilon})
				choosing(t, path, args...)
				if !long.On() {
					break
				}
				if code, _, stderr := run(t, append([]string{"plan", "--input", path, "--header", "--user-field", "who",
					"--time-field", "when"}, args...)...); code != command.ExitOK {
					t.Errorf("%v: exit %d\n%s", args, code, stderr)
				}
			}
		}
	}
}

// Without --from and --to the range of windows follows from the data, and one record can stretch
// it. The settings, which decide what becomes of everybody's records, do not follow from that
// range.
func TestRuleOneRecordFarAwayChangesNoSettingOfADemo(t *testing.T) {
	t.Parallel()
	near := manyUsers(t, 4000)
	text, err := os.ReadFile(near)
	if err != nil {
		t.Fatal(err)
	}
	want := choosing(t, near, "--key-field", "what")
	for _, day := range []string{"2027-03-03", "2023-03-03"} { // 17,500 windows
		far := commandtest.Write(t, "far.csv", string(text)+"far,page1,"+day+"T00:00:00Z,1\n")
		// by a noisy choice
		if got := choosing(t, far, "--key-field", "what"); got.Lasts > 4*want.Lasts || got.Window > 8*want.Window {
			t.Errorf("with a record of %s: windows of %s for %s, want %s and %s", day, got.Window, got.Lasts,
				want.Window, want.Lasts)
		}
	}
}

// A variance of a wide range leaves little room between too much noise and too little.
func TestADemoFindsTheNoiseThatAVarianceCanHave(t *testing.T) {
	t.Parallel()
	code, _, stderr := run(t, "demo", "--input", manyUsers(t, 4000), "--header", "--user-field", "who", "--time-field",
		"when",
		"--kind", "variance", "--value-field", "value", "--min", "0", "--max", "25000")
	if code != command.ExitOK || !strings.Contains(stderr, "of the real variance; ") || !strings.Contains(stderr,
		"forecast for the number of events") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

func TestRuleADemoThatChoosesPaysForThat(t *testing.T) {
	t.Parallel()
	args := []string{"demo", "--header", "--user-field", "who", "--key-field", "what", "--time-field", "when"}
	many, exact := manyUsers(t, 4000), 0
	for exact < 5 { // the keys differ, and noise that rounds to 0 comes once in some 150 runs
		code, stdout, stderr := run(t, append(args, "--input", many)...)
		if code != command.ExitOK || !strings.Contains(stdout, "chosen from noisy tallies") {
			t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
		}
		if promise, _, _ := strings.Cut(stdout, "window (UTC)"); !strings.Contains(promise, "4,000 ") {
			break
		}
		if exact++; exact == 5 {
			t.Error("the number of users is printed")
		}
	}
	few := manyUsers(t, 30) // they look like many more with a probability of 1e-6
	code, looked, _ := run(t, append(args, "--input", few)...)
	if code != command.ExitOK || !strings.Contains(looked, "users are too few") {
		t.Errorf("exit %d\n%s", code, looked)
	}
	code, given, _ := run(t, append(args, "--input", few, "--window", "1d", "--absolute", "50", "--lasts", "365d")...)
	if code != command.ExitOK || strings.Contains(given, "chosen") || strings.Contains(given, "too few") {
		t.Errorf("exit %d\n%s", code, given)
	}
	// Looking took a part of the budget, even if it led to nothing.
	settings := choosing(t, few, "--key-field", "what")
	spent, err := settings.Compile()
	if err != nil {
		t.Fatal(err)
	}
	settings.Planned = 0
	whole, err := settings.Compile()
	if err != nil || spent.Budget.Mu2 >= whole.Budget.Mu2 || spent.Budget.Whole().Mu2 != whole.Budget.Mu2 {
		t.Errorf("%v left of %v, %v", spent.Budget, whole.Budget, err)
	}
}

// Windows of a size that is chosen do not reach beyond an end of the range that was given: they
// would count events that the holder left out, and that the choice does not know.
func TestRuleChosenWindowsDoNotReachBeyondAGivenEnd(t *testing.T) {
	parse := func(text string) (v command.TimeValue) {
		if err := v.Set(text); err != nil {
			t.Fatal(err)
		}
		return v
	}
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		from, to string
		text     bool // --time-unit text, the default
		layout   string
		want     []time.Duration
	}{
		"texts, perhaps dates": {text: true, want: choice.Usual[2:]},
		"texts of two days":    {text: true, from: "2025-01-03", to: "2025-01-05", want: []time.Duration{day}},
		"texts with hours":     {text: true, layout: "%d.%m.%Y %H h", want: choice.Usual},
		"a Thursday":           {from: "2025-01-02", want: []time.Duration{time.Hour, 6 * time.Hour, day, 7 * day}},
		"a Friday":             {from: "2025-01-03", want: []time.Duration{time.Hour, 6 * time.Hour, day}},
		"up to a noon":         {to: "2025-01-02T12:00:00Z", want: []time.Duration{time.Hour, 6 * time.Hour}},
		// which --from refuses
		"within an hour":    {from: "2025-01-02T12:30:00Z", want: []time.Duration{time.Hour}},
		"the whole of time": {want: choice.Usual},
		"dates":             {layout: "%d.%m.%Y", want: choice.Usual[2:]},
		"dates of three days": {from: "2025-01-03", to: "2025-01-06", layout: "%d.%m.%Y",
			want: []time.Duration{day}},
		"dates from a noon on": {from: "2025-01-02T12:00:00Z", layout: "%d.%m.%Y",
			want: []time.Duration{time.Hour}},
		"dates with hours":         {layout: "%d.%m.%Y %H h", want: choice.Usual},
		"dates of different zones": {layout: "%d.%m.%Y %z", want: choice.Usual},
	} {
		f := &demoFlags{inputFlags: inputFlags{input: "some.csv"}, given: func(string) bool { return false }}
		if c.from != "" {
			f.from = parse(c.from)
		}
		if c.to != "" {
			f.to = parse(c.to)
		}
		if f.times.Layout = c.layout; c.text {
			f.times.Unit = event.TimeText
		}
		f.Window = f.baseWindow()
		if got := f.sizes(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Two runs choose settings with noise of their own.
func TestRuleADemoChoosesBoundsWithNoiseOfItsOwn(t *testing.T) {
	t.Parallel()
	long.Test(t)
	args := []string{"demo", "--header", "--user-field", "who", "--key-field", "what", "--time-field", "when",
		"--format", "json", "--input", manyUsers(t, 4000)}
	users := func() string {
		_, stderr := mustRun(t, args...)
		_, rest, chosen := strings.Cut(stderr, "chosen from noisy tallies")
		if !chosen {
			t.Fatalf("stderr %s", stderr)
		}
		promise, _, _ := strings.Cut(rest, "budget")
		return promise
	}
	first := users()
	for runs := 1; users() == first; runs++ {
		if runs == 7 { // by chance: below 1e-10, since two runs agree less than once in 70
			t.Fatalf("%d runs choose with the same noise: %s", runs, first)
		}
	}
}
