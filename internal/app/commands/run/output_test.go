package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
)

func newOutput(t *testing.T, f cli.Format) (*runOutput, *bytes.Buffer) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{&command.App{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}}
	d, err := a.Load(commandtest.Write(t, "tollgate.yaml", commandtest.TwoMetrics), config.Options{MissingKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	return newRunOutput(a, f, 0, d.Deployment, terminal.NewProgress(&errs, false, time.Now), nil), &out
}

func released(turn uint64, metric, key string) schemas.Release {
	hour := time.Hour.Milliseconds()
	return schemas.Release{Turn: turn, Metric: metric, Key: key, WindowStart: int64(turn) * hour,
		WindowEnd: int64(turn+1) * hour, Confidence: 0.95, Rungs: 1, Precision: units.Precision{Hi: 1}}
}

func give(t *testing.T, o *runOutput, turn uint64, releases ...schemas.Release) {
	t.Helper()
	if err := o.print(t.Context(), pipeline.Published{Turn: turn, Releases: releases}); err != nil {
		t.Fatal(err)
	}
}

// Turns that other runs have settled are not printed, those of this run are, whichever
// side is told first.
func TestRunPrintsItsOwnTurnsOnly(t *testing.T) {
	t.Parallel()
	o, out := newOutput(t, cli.JSON)
	for turn := uint64(51); turn <= 53; turn++ {
		o.settle(pipeline.Settlement{First: turn, Turn: turn, Keys: []int{3, 0, 1}[turn-51]})
	}
	give(t, o, 50, released(50, "private", "old"), released(50, "private", "older"))
	give(t, o, 51, released(51, "private", "z"), released(51, "public", "a"), released(51, "public", "b"))
	give(t, o, 52)
	if o.done != 52 || o.unprinted() != 1 {
		t.Errorf("printed up to turn %d, and %d values are left", o.done, o.unprinted())
	}
	give(t, o, 53, released(53, "public", "a"))
	var later sync.WaitGroup
	later.Go(func() { give(t, o, 54, released(54, "public", "later")) })
	o.settle(pipeline.Settlement{First: 54, Turn: 54, Keys: 1})
	if !o.wait(nil) {
		t.Fatal("turns are still awaited")
	}
	later.Wait()
	var got []string
	for line := range strings.Lines(out.String()) {
		fields := strings.Split(line, `"`)
		got = append(got, fields[3]+" "+fields[15])
	}
	if want := "private z,public a,public b,public a,public later"; strings.Join(got, ",") != want {
		t.Errorf("printed %v, want %s", got, want)
	}
	if o.unprinted() != 0 {
		t.Errorf("%d values are left", o.unprinted())
	}
}

// A turn that comes with those before it, whose ends are missing, brings nothing that was printed
// already, and nothing of earlier runs.
func TestNoValueIsPrintedTwice(t *testing.T) {
	t.Parallel()
	o, out := newOutput(t, cli.JSON)
	for turn := uint64(51); turn <= 53; turn++ {
		o.settle(pipeline.Settlement{First: turn, Turn: turn, Keys: 1})
	}
	give(t, o, 51, released(50, "public", "old"), released(51, "public", "a"))
	give(t, o, 53, released(50, "public", "old"), released(51, "public", "a"), released(52, "public", "b"),
		released(53, "public", "c"))
	if got := strings.Count(out.String(), "\n"); got != 3 || strings.Contains(out.String(), "old") ||
		o.unprinted() != 0 {
		t.Errorf("printed %d values, %d are left, want 3 and 0:\n%s", got, o.unprinted(), out)
	}
}

// With time.window_zone, people read local days; programs get the moments.
func TestRunPrintsTheDaysOfItsZone(t *testing.T) {
	t.Parallel()
	a := &app{&command.App{Stdout: &bytes.Buffer{}, Getenv: func(string) string { return "" }}}
	zoned := strings.ReplaceAll(commandtest.TwoMetrics, "1h", "24h") + "time: {window_zone: America/New_York}\n"
	d, err := a.Load(commandtest.Write(t, "tollgate.yaml", zoned), config.Options{MissingKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	r := released(1, "private", "a")
	r.WindowStart = time.Date(2025, 11, 2, 4, 0, 0, 0, time.UTC).UnixMilli()
	r.WindowEnd = r.WindowStart + 25*time.Hour.Milliseconds()
	for format, want := range map[cli.Format]string{cli.Table: "\n2025-11-02 ", cli.JSON: "2025-11-02T04:00:00Z"} {
		text, err := newRunOutput(a, format, 0, d.Deployment, nil,
			nil).text(&pipeline.Published{Releases: []schemas.Release{r}})
		if err != nil || !strings.Contains(string(text), want) || format == cli.Table && !strings.Contains(string(text),
			"window (America/New_York)") {
			t.Errorf("%s: %v\n%s", want, err, text)
		}
	}
}

// atOnce keeps the sizes of writes, and fails after some.
type atOnce struct {
	writes []string
	most   int
}

func (w *atOnce) Write(b []byte) (int, error) {
	if len(w.writes) == w.most {
		return 0, errors.New("full")
	}
	w.writes = append(w.writes, string(b))
	return len(b), nil
}

// Only whole lines are written, no more than a pipe takes at once, and what was written
// is counted.
func TestRuleLinesAreWrittenWhole(t *testing.T) {
	t.Parallel()
	o, _ := newOutput(t, cli.JSON)
	w := &atOnce{most: 3}
	o.a.Stdout = w
	o.settle(pipeline.Settlement{First: 1, Turn: 1, Keys: 60})
	var all []schemas.Release
	for i := range 60 {
		all = append(all, released(1, "public", strings.Repeat("k", 5*i)))
	}
	err := o.print(t.Context(), pipeline.Published{Turn: 1, Releases: all})
	lines := 0
	for _, text := range w.writes {
		lines += strings.Count(text, "\n")
		if !strings.HasSuffix(text, "\n") || len(text) > atomicWrite || len(text) < atomicWrite/2 {
			t.Errorf("%d bytes at once", len(text))
		}
	}
	if err == nil || len(w.writes) != 3 || o.unprinted() != 60-lines {
		t.Errorf("%d writes of %d lines, %d values left (%v)", len(w.writes), lines, o.unprinted(), err)
	}
}

func TestTheFirstErrorEndsThePrinting(t *testing.T) {
	t.Parallel()
	o, _ := newOutput(t, cli.Table)
	o.settle(pipeline.Settlement{First: 1, Turn: 1, Keys: 1})
	first := errors.New("first")
	o.fail(first)
	o.fail(errors.New("second"))
	select {
	case <-o.failed:
	default:
		t.Error("the run is not told")
	}
	err := o.print(t.Context(), pipeline.Published{Turn: 1, Releases: []schemas.Release{released(1, "private", "x")}})
	if !o.wait(nil) || !errors.Is(o.failure(), first) || !errors.Is(err, first) {
		t.Errorf("got %v", o.failure())
	}
}

// Printing does not decide when a run ends: what keeps counts from being read is waited out,
// nothing is printed twice then, and only an output that takes nothing ends the run.
func TestRuleOnlyAFailedWriteEndsTheRun(t *testing.T) {
	t.Parallel()
	o, out := newOutput(t, cli.JSON)
	o.settle(pipeline.Settlement{First: 1, Turn: 3, Keys: 3})
	turn := func(n uint64) pipeline.Published {
		return pipeline.Published{Turn: n, Releases: []schemas.Release{released(n, "public", "a")}}
	}
	gone := errors.New("following counts, partition 0: giving up after 2m0s: nothing listens there")
	full := errors.New("full")
	tries := 0
	o.follow(t.Context(), time.Millisecond, func(ctx context.Context, fn func(pipeline.Published) error) error {
		tries++
		if tries == 1 {
			return gone
		}
		if o.unread() == errUnprinted {
			t.Error("why nothing is printed is not known")
		}
		for n := uint64(1); n < uint64(tries); n++ { // from the beginning each time
			if err := fn(turn(n)); err != nil {
				return err
			}
		}
		select {
		case <-o.failed:
			t.Fatal("the run was told to end")
		default:
		}
		switch tries {
		case 4:
			o.a.Stdout = &atOnce{}
			o.settle(pipeline.Settlement{First: 4, Turn: 4, Keys: 1})
			if err := fn(turn(4)); err == nil || !strings.Contains(err.Error(), full.Error()) {
				t.Errorf("a full disk: %v", err)
			} else {
				return err
			}
		case 5:
			t.Fatal("printing goes on after a failed write")
		}
		return gone
	})
	if n := strings.Count(out.String(), "\n"); n != 3 || o.unprinted() != 1 {
		t.Errorf("%d lines, %d values left:\n%s", n, o.unprinted(), out)
	}
	select {
	case <-o.failed:
	default:
		t.Error("a failed write does not end the run")
	}
	if err := o.failure(); err == nil || !strings.Contains(err.Error(), "writing output: full") {
		t.Errorf("the run ends for %v", err)
	}
}

// A run that ends because its output failed says so, and not that it was asked to drain.
func TestRuleDrainingIsSaidOfThoseWhoAskedForIt(t *testing.T) {
	t.Parallel()
	draining := fmt.Errorf("draining: %w", pipeline.ErrNoBroker)
	for _, signalled := range []bool{true, false} {
		o, _ := newOutput(t, cli.Table)
		full := errors.New("writing output: full")
		o.fail(full)
		err := o.finish(pipeline.RunResult{}, draining, signalled)
		if !errors.Is(err, pipeline.ErrNoBroker) || errors.Is(err, full) == signalled || strings.Contains(err.Error(),
			"draining") != signalled {
			t.Errorf("signalled %v: %v", signalled, err)
		}
	}
}
