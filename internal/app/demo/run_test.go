package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/app/generate"
	"github.com/tollgate-dp/tollgate/internal/app/handout"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func settings(keys ...string) Settings {
	return Settings{
		Epsilon: 1, Delta: 1e-6, Accountant: "gdp", Window: time.Hour,
		Target:         noisereduction.Target{Absolute: 100, Relative: 0.1, Confidence: 0.95},
		MaxKeysPerUser: 2, MaxEventsPerKey: 2, Lasts: 24 * time.Hour, PublicKeys: keys,
	}
}

// runAll runs a source and returns its releases as JSON lines.
func runAll(t testing.TB, s Settings, source Source, secrets Secrets) (Result, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	result, err := Run(ctx, s, source, secrets, Options{OnTurn: func(turn Turn) error {
		for _, r := range turn.Releases {
			line, err := r.MarshalJSON()
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "%s\n", line)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckTallies(result.Tallies); err != nil {
		t.Error(err)
	}
	if result.Tallies.Read != result.Loaded {
		t.Errorf("%d records loaded, %d accounted for", result.Loaded, result.Tallies.Read)
	}
	return result, out.String()
}

func TestMadeUpRecordsAreAllAccountedFor(t *testing.T) {
	c := generate.Defaults()
	c.Events, c.Users, c.Windows, c.Keys = 20_000, 3000, 6, 3
	c.Late, c.Future, c.Broken = 0.05, 0.03, 0.05
	source, err := NewGenerated(c)
	if err != nil {
		t.Fatal(err)
	}
	s := settings(generate.Names(3)...)
	secrets, err := SeededSecrets(s, source)
	if err != nil {
		t.Fatal(err)
	}
	result, out := runAll(t, s, source, secrets)
	stream, err := generate.New(c)
	if err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		_, more = stream.Next()
	}
	truth, tallies := stream.Truth(), result.Tallies
	found := generate.Truth{Read: tallies.Read, BeforeStart: tallies.BeforeStart, Late: tallies.Late,
		Future: tallies.Future, Accepted: tallies.Accepted, DeadLettered: tallies.DeadLettered}
	if diff := cmp.Diff(truth, found); diff != "" || tallies.Overtaken != 0 || tallies.Metrics[0].Open != 0 {
		t.Errorf("other tallies than were made up: %+v\n%s", tallies, diff)
	}
	if truth.Late == 0 || truth.Future == 0 || truth.BeforeStart == 0 || len(truth.DeadLettered) != 10 {
		t.Errorf("not every outcome was generated: %+v", truth)
	}
	if result.Turns != 6 || strings.Count(out, "\n") != 18 {
		t.Errorf("%d turns, %d releases, want 6 and 18", result.Turns, strings.Count(out, "\n"))
	}
	t.Run("a seed repeats the output to the last byte", func(t *testing.T) {
		if _, again := runAll(t, s, source, secrets); again != out {
			t.Errorf("two runs differ:\n%s", cmp.Diff(out, again))
		}
	})
}

// visits makes up a file of n records over four hours, in order of time.
func visits(n int) []string {
	r := rand.New(rand.NewPCG(3, 4)) // fixed seed: made-up records that tests describe by number
	var lines []string
	for i := range n {
		when := march.Add(time.Duration(i) * 4 * time.Hour / time.Duration(n))
		lines = append(lines, fmt.Sprintf("user%d,%s,%s", r.IntN(n), []string{"a", "b", "\"c,\"\"c\""}[r.IntN(3)],
			when.Format(time.RFC3339Nano)))
	}
	return append(lines, "broken", "u,a,not a time", "u,a", ",a,2025-03-03T01:00:00Z", "u,\"stray")
}

// The same records in any order, sorted in memory or on disk, give the same bytes.
func TestTheOrderOfRecordsChangesNothing(t *testing.T) {
	lines := visits(3000)
	file := func(lines []string, end string) FileOptions {
		return options(write(t, "user,page,when"+end+strings.Join(lines, end)+end))
	}
	s := settings("a", "b", "c,\"c")
	_, want := runAll(t, s, open(t, file(lines, "\n")), testSecrets())
	if n := strings.Count(want, "\n"); n != 12 {
		t.Fatalf("%d releases, want 12:\n%s", n, want)
	}
	random := rand.New(runseed.PCG(t, 5, 6))
	random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	small := file(lines, "\r\n")
	small.SortMemory = 10_000 // sorted in runs on disk
	if _, got := runAll(t, s, open(t, small), testSecrets()); got != want {
		t.Errorf("another order gives another output:\n%s", cmp.Diff(want, got))
	}
}

// With --to before the end of the data what lies after it is accounted for, but in
// no release.
func TestRecordsAfterTheRangeStayOpen(t *testing.T) {
	opt := options(write(t, "user,page,when\n"+strings.Join(visits(400), "\n")))
	opt.From, opt.To = march.Add(time.Hour), march.Add(3*time.Hour)
	secrets, err := RandomSecrets()
	if err != nil {
		t.Fatal(err)
	}
	result, out := runAll(t, settings("a", "b"), open(t, opt), secrets)
	if result.Turns != 2 || strings.Count(out, "\n") != 4 {
		t.Errorf("%d turns, output %q", result.Turns, out)
	}
	if tl := result.Tallies; tl.BeforeStart != 100 || tl.Metrics[0].Open != 100 {
		t.Errorf("tallies %+v", tl)
	}
}

// A range without a single event still has a value for every public key.
func TestPublicKeysAreReleasedInAnEmptyRange(t *testing.T) {
	opt := options(write(t, ""))
	opt.From, opt.To = march, march.Add(3*time.Hour)
	secrets, err := RandomSecrets()
	if err != nil {
		t.Fatal(err)
	}
	result, out := runAll(t, settings("a", "b"), open(t, opt), secrets)
	if result.Turns != 3 || strings.Count(out, "\n") != 6 {
		t.Errorf("%d turns, output %q", result.Turns, out)
	}
}

func TestFailureOfTheOutputEndsTheRun(t *testing.T) {
	secrets, err := RandomSecrets()
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	opt := options(write(t, "user,page,when\n"+strings.Join(visits(400), "\n")))
	_, err = Run(context.Background(), settings("a"), open(t, opt), secrets, Options{OnTurn: func(Turn) error {
		return full
	}})
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

func TestDrainEndsAfterATurn(t *testing.T) {
	secrets, err := RandomSecrets()
	if err != nil {
		t.Fatal(err)
	}
	opt := options(write(t, "user,page,when\n"+strings.Join(visits(400), "\n")))
	opt.From, opt.To = march, march.Add(2000*time.Hour)
	drain := make(chan struct{})
	turns := 0
	result, err := Run(context.Background(), settings("a"), open(t, opt), secrets, Options{Drain: drain,
		OnTurn: func(turn Turn) error {
			if turns++; turns == 3 {
				close(drain)
			}
			if len(turn.Releases) != 1 || turn.Number != uint64(turns) {
				t.Errorf("turn %d has %d releases", turn.Number, len(turn.Releases))
			}
			return nil
		}})
	if err != nil || !result.Drained || result.Turns >= 2000 || int(result.Turns) != turns {
		t.Errorf("got %+v after %d turns (%v)", result, turns, err)
	}
}

// The threshold of private keys follows from the first rung. If no target can stop a ladder before
// its top, the first rung has the noise of the top, up to the digits that plan prints.
func TestWithoutATargetTheFirstRungIsTheTop(t *testing.T) {
	s := settings()
	s.PublicKeys = nil
	for _, target := range []float64{0, 0.1} {
		s.Target.Relative = target
		d, err := s.Compile()
		if err != nil {
			t.Fatal(err)
		}
		spec := d.Metrics[0].Spec
		noise := math.Sqrt(spec.Top.Float() / spec.First.Float())
		if want := map[bool]float64{true: 1, false: 2}[target == 0]; noise < want-1e-9 || noise > want*1.002 {
			t.Errorf("target %v: the first rung has %v times the noise of the top, want %v", target, noise, want)
		}
	}
}

// A reader that hangs does not keep a run from ending.
func TestRuleAReaderThatHangsDoesNotStopADemo(t *testing.T) {
	secrets, err := RandomSecrets()
	if err != nil {
		t.Fatal(err)
	}
	opt := options(write(t, "user,page,when\n"+strings.Join(visits(400), "\n")))
	opt.From, opt.To = march, march.Add(50*time.Hour)
	drain, hang := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, err := Run(context.Background(), settings("a"), open(t, opt), secrets, Options{Drain: drain,
			OnTurn: func(Turn) error {
				close(drain)
				<-hang
				return nil
			}})
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, handout.ErrOutputStalled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the run waits for its reader")
	}
	close(hang)
}
