package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
)

func newOutput(t *testing.T, f cli.Format) (*runOutput, *bytes.Buffer) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{&command.App{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}}
	file := commandtest.Write(t, "tollgate.yaml", commandtest.TwoMetrics)
	d := must.Have(a.Load(file, config.Options{MissingKeys: true}))
	return newRunOutput(a, f, d.Deployment, terminal.NewProgress(&errs, time.Now), &command.Page{}), &out
}

func released(turn uint64, metric, key string) schemas.Release {
	hour := time.Hour.Milliseconds()
	return schemas.Release{Turn: turn, Metric: metric, Key: key, WindowStart: int64(turn) * hour,
		WindowEnd: int64(turn+1) * hour, Confidence: 0.95, Rungs: 1, Precision: units.Precision{Hi: 1}}
}

// With time.window_zone, people read local days; programs get the moments.
func TestRunPrintsTheDaysOfItsZone(t *testing.T) {
	t.Parallel()
	a := &app{&command.App{Stdout: &bytes.Buffer{}, Getenv: func(string) string { return "" }}}
	zoned := strings.ReplaceAll(commandtest.TwoMetrics, "1h", "24h") + "time: {window_zone: America/New_York}\n"
	d := must.Have(a.Load(commandtest.Write(t, "tollgate.yaml", zoned), config.Options{MissingKeys: true}))
	r := released(1, "private", "a")
	r.WindowStart = time.Date(2025, 11, 2, 4, 0, 0, 0, time.UTC).UnixMilli()
	r.WindowEnd = r.WindowStart + 25*time.Hour.Milliseconds()
	for format, want := range map[cli.Format]string{cli.Table: "\n2025-11-02 ", cli.JSON: "2025-11-02T04:00:00Z"} {
		out := newRunOutput(a, format, d.Deployment, nil, &command.Page{})
		text, err := out.text(&pipeline.Published{Releases: []schemas.Release{r}})
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
	o.begin(t.Context(), 0, 0, func(context.Context, func(pipeline.Published) error) error { return nil })
	o.settle(pipeline.Settlement{Turn: 1, Keys: 60})
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

// Printing does not decide when a run ends: what keeps counts from being read is waited out,
// nothing is printed twice then, and only an output that takes nothing ends the run.
func TestRuleOnlyAFailedWriteEndsTheRun(t *testing.T) {
	t.Parallel()
	o, out := newOutput(t, cli.JSON)
	o.settle(pipeline.Settlement{Turn: 4, Keys: 4})
	turn := func(n uint64) pipeline.Published {
		return pipeline.Published{Turn: n, Releases: []schemas.Release{released(n, "public", "a")}}
	}
	gone := errors.New("following counts, partition 0: giving up after 2m0s: nothing listens there")
	tries := 0
	o.begin(t.Context(), 0, time.Millisecond, func(_ context.Context, fn func(pipeline.Published) error) error {
		if tries++; tries == 2 && !errors.Is(o.handout.Unread(), gone) {
			t.Error("why nothing is printed is not known")
		}
		for n := uint64(1); n < uint64(min(tries, 4)); n++ { // from the beginning each time
			if err := fn(turn(n)); err != nil {
				return err
			}
		}
		if fired(o.failed) {
			t.Error("the run was told to end")
		}
		if tries == 4 {
			o.a.Stdout = &atOnce{}
			return fn(turn(4))
		}
		return gone
	})
	select {
	case <-o.failed:
	case <-time.After(time.Minute):
		t.Fatal("a failed write does not end the run")
	}
	o.wait(nil)
	if n := strings.Count(out.String(), "\n"); n != 3 || o.unprinted() != 1 || tries != 4 {
		t.Errorf("%d lines after %d tries, %d values left:\n%s", n, tries, o.unprinted(), out)
	}
	if err := o.handout.Err(); err == nil || !strings.Contains(err.Error(), "writing output: full") {
		t.Errorf("the run ends for %v", err)
	}
}

// A run that ends because its output failed says so, and not that it was asked to drain.
func TestRuleDrainingIsSaidOfThoseWhoAskedForIt(t *testing.T) {
	t.Parallel()
	draining := fmt.Errorf("draining: %w", pipeline.ErrNoBroker)
	for _, signalled := range []bool{true, false} {
		o, _ := newOutput(t, cli.JSON)
		o.a.Stdout = &atOnce{}
		o.begin(t.Context(), 0, 0, func(_ context.Context, fn func(pipeline.Published) error) error {
			return fn(pipeline.Published{Turn: 1, Releases: []schemas.Release{released(1, "public", "a")}})
		})
		<-o.failed
		o.handout.Leave()
		err := o.finish(pipeline.RunResult{}, draining, signalled)
		if !errors.Is(err, pipeline.ErrNoBroker) || strings.Contains(err.Error(), "writing output: full") ==
			signalled ||
			strings.Contains(err.Error(), "draining") != signalled {
			t.Errorf("signalled %v: %v", signalled, err)
		}
	}
}
