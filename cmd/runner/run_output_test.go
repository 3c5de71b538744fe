package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/config"
	"github.com/tollgate-dp/tollgate/internal/show"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

func newOutput(t *testing.T, f format) (*runOutput, *bytes.Buffer) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs, getenv: func(string) string { return "" }}
	d, err := a.load(write(t, "tollgate.yaml", planned), config.Options{MissingKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	return newRunOutput(a, f, d.Deployment, show.NewProgress(&errs, false, time.Now), nil), &out
}

func released(turn uint64, metric, key string) schemas.Release {
	hour := time.Hour.Milliseconds()
	return schemas.Release{Turn: turn, Metric: metric, Key: key, WindowStart: int64(turn) * hour, WindowEnd: int64(turn+1) * hour, Confidence: 0.95, Rungs: 1, Precision: state.Precision{Hi: 1}}
}

func give(t *testing.T, o *runOutput, releases ...schemas.Release) {
	t.Helper()
	for _, r := range releases {
		if err := o.release(r); err != nil {
			t.Fatal(err)
		}
	}
}

// Turns of earlier runs are forgotten, those of this run are printed whole and
// in order, whichever side is told first.
func TestRunPrintsItsOwnTurnsOnly(t *testing.T) {
	o, out := newOutput(t, formatJSON)
	for turn := uint64(1); turn <= 50; turn++ {
		give(t, o, released(turn, "private", "old"), released(turn, "private", "older"))
	}
	if len(o.releases) > early {
		t.Errorf("%d turns are kept", len(o.releases))
	}
	// Turn 51 was interrupted: one value was published by the run before.
	give(t, o, released(51, "public", "b"))
	o.settled(pipeline.Settlement{Turn: 51, Keys: 3})
	o.settled(pipeline.Settlement{Turn: 52, Keys: 0})
	o.settled(pipeline.Settlement{Turn: 53, Keys: 1})
	if o.wait(10 * time.Millisecond) {
		t.Error("nothing is awaited")
	}
	give(t, o, released(53, "public", "a"), released(51, "public", "a"), released(51, "private", "z"))
	if !o.wait(time.Second) {
		t.Fatal("turns are still awaited")
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		fields := strings.Split(line, `"`)
		got = append(got, fields[3]+" "+fields[15])
	}
	if want := "private z,public a,public b,public a"; strings.Join(got, ",") != want {
		t.Errorf("printed %v, want %s", got, want)
	}
}

// A joint is printed as one, and only when the releases of all its turns are there.
func TestRunPrintsTheTurnsOfAJointTogether(t *testing.T) {
	o, out := newOutput(t, formatJSON)
	give(t, o, released(3, "public", "old"))
	o.settled(pipeline.Settlement{First: 4, Turn: 6, Keys: 3})
	give(t, o, released(6, "public", "a"), released(7, "public", "a"), released(4, "public", "b"))
	if out.Len() > 0 {
		t.Errorf("printed before all of the joint was there: %s", out)
	}
	give(t, o, released(6, "private", "z"))
	o.settled(pipeline.Settlement{First: 7, Turn: 7, Keys: 1})
	if n := strings.Count(out.String(), "\n"); n != 4 || strings.Contains(out.String(), "old") || len(o.releases) > 0 {
		t.Errorf("printed %d lines, want 4, and %d turns are left: %s", n, len(o.releases), out)
	}
}

func TestTablesOfSeveralMetricsAreNamed(t *testing.T) {
	o, out := newOutput(t, formatTable)
	give(t, o, released(1, "public", "a"), released(1, "private", "x"), released(1, "public", "b"))
	o.settled(pipeline.Settlement{Turn: 1, Keys: 3})
	for _, want := range []string{"metric private\n", "metric public\n"} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("%q is not there once: %s", want, out)
		}
	}
}

func TestTheFirstErrorEndsThePrinting(t *testing.T) {
	o, _ := newOutput(t, formatTable)
	o.settled(pipeline.Settlement{Turn: 1, Keys: 1})
	first := errors.New("first")
	o.fail(first)
	o.fail(errors.New("second"))
	select {
	case <-o.failed:
	default:
		t.Error("the run is not told")
	}
	if !o.wait(time.Minute) || !errors.Is(o.failure(), first) || !errors.Is(o.release(released(1, "private", "x")), first) {
		t.Errorf("got %v", o.failure())
	}
}
