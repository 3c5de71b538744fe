package commands

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/pipeline"
)

var twoOClock = time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)

func at(t *testing.T, hour string) time.Time {
	t.Helper()
	v, err := time.Parse("2006-01-02T15:04:05.000", "2026-03-01T"+hour)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// While a window fills up the progress says when its counts can appear; it never says so of
// records that are read late, nor of keys that may all lack users.
func TestProgressSaysWhenTheNextResultComes(t *testing.T) {
	t.Parallel()
	window := pipeline.Progress{WindowEnd: twoOClock, Earliest: at(t, "14:02:05.000"), Latest: at(t, "14:04:00.500")}
	read := func(change func(*pipeline.Progress)) pipeline.Progress {
		p := window
		change(&p)
		return p
	}
	for _, test := range []struct {
		p              pipeline.Progress
		now            string
		first, certain bool
		want           string
	}{
		{window, "13:10:00.000", true, true, "first result at 14:02:05Z"},
		{window, "13:10:00.000", false, true, "next result at 14:02:05Z"},
		{window, "13:10:00.000", true, false, "first window closes at 14:02:05Z"},
		{window, "14:02:05.000", true, true, "first result by 14:04:01Z"},
		{window, "14:05:00.000", true, true, "first result is due"},
		{read(func(p *pipeline.Progress) { p.Closed = true }), "14:03:00.000", false, true, "next result is being released"},
		{read(func(p *pipeline.Progress) { p.Lag = 4 * time.Second }), "13:10:00.000", true, true, "first result at 14:02:05Z"},
		{read(func(p *pipeline.Progress) { p.Lag = 90 * time.Second }), "13:10:00.000", true, true, "first result at 14:02:05Z, reading 1m30s behind the clock"},
		{read(func(p *pipeline.Progress) { p.Lag = time.Hour }), "14:10:00.000", true, true, "reading 1h0m0s behind the clock"},
		{read(func(p *pipeline.Progress) { p.Earliest = p.Earliest.AddDate(0, 0, 1) }), "14:10:00.000", true, true, "first result at 2026-03-02 14:02:05Z"},
	} {
		if got := expecting(test.p, at(t, test.now), test.first, test.certain); got != test.want {
			t.Errorf("at %s: %q, want %q", test.now, got, test.want)
		}
	}
}

// A run that ends says once how it ended.
func TestARunIsSummedUpOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		f         runFlags
		result    pipeline.RunResult
		signalled bool
		err       error
		want      string
	}{
		{result: pipeline.RunResult{Drained: true}, want: "drained: no turn was settled; run again to go on"},
		{result: pipeline.RunResult{Drained: true, Settled: 7}, want: "drained: everything up to turn 7 is published; run again to go on"},
		{result: pipeline.RunResult{Drained: true, Settled: 7}, err: errors.New("full"), want: "drained: everything up to turn 7 is published; run again to go on"},
		{f: runFlags{untilEnd: true}, result: pipeline.RunResult{Drained: true, OpenTurns: 1}, want: ""}, // the error says it
		{f: runFlags{untilEnd: true}, result: pipeline.RunResult{Settled: 3}, want: "every window with an event that was on the topic is settled"},
		{f: runFlags{until: untilValue{timeValue{Time: twoOClock}}}, result: pipeline.RunResult{Settled: 3}, want: "every window that ends by 2026-03-01T14:00:00Z is settled"},
		{f: runFlags{untilEnd: true}, err: errors.New("no topic"), want: ""},
		{f: runFlags{untilEnd: true}, result: pipeline.RunResult{Settled: 3, Drained: true, OpenTurns: 2}, want: ""},
		{f: runFlags{untilEnd: true}, result: pipeline.RunResult{Settled: 3, Drained: true, OpenTurns: 2}, signalled: true, want: "drained: everything up to turn 3 is published; run again to go on"},
		{f: runFlags{untilEnd: true}, result: pipeline.RunResult{Superseded: true}, want: ""},
	} {
		if got := summary(&test.f, test.result, test.signalled, test.err); got != test.want {
			t.Errorf("%+v, %v: %q, want %q", test.result, test.err, got, test.want)
		}
	}
}

// A run that was to settle everything says until when its last window is open, and what closes it.
func TestOpenTurnsSayWhatClosesThem(t *testing.T) {
	t.Parallel()
	open := pipeline.Progress{WindowEnd: twoOClock, Earliest: at(t, "14:02:05.000"), Latest: at(t, "14:04:00.000")}
	for now, want := range map[string]string{
		"13:59:00.000": "1 turn is open, the last one until 14:00:00Z; it closes once every partition has records from 14:02:05Z on; for a silent partition the clock counts instead, at 14:04:00Z; run again to go on",
		"14:03:00.000": "1 turn is open, the last one until 14:00:00Z; it closes once every partition has a later record; for a silent partition the clock counts instead, at 14:04:00Z; run again",
		"14:05:00.000": "a run that reads on will close it",
	} {
		err := unfinished(pipeline.RunResult{Drained: true, OpenTurns: 1, Open: open}, at(t, now))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("at %s: %v, want %q", now, err, want)
		}
	}
	if err := unfinished(pipeline.RunResult{Drained: true, Unread: true}, twoOClock); err == nil || !strings.Contains(err.Error(), "before it had read every event") {
		t.Error(err)
	}
	if err := unfinished(pipeline.RunResult{Drained: true, OpenTurns: 1234, Open: open}, twoOClock); !strings.Contains(err.Error(), "1,234 turns are open, the last one until") {
		t.Error(err)
	}
}

// What was looked at before a turn was settled is not said of it afterwards.
func TestProgressSaysNothingOfWhatIsSettled(t *testing.T) {
	t.Parallel()
	o, _ := newOutput(t, cli.Table)
	errs := o.a.stderr.(*bytes.Buffer)
	o.settle(pipeline.Settlement{First: 1, Turn: 2, WindowEnd: twoOClock, Keys: 3})
	o.expect(pipeline.Progress{WindowEnd: twoOClock})
	o.progress.Flush()
	if errs.Len() > 0 {
		t.Errorf("said: %s", errs)
	}
	o.expect(pipeline.Progress{WindowEnd: twoOClock.Add(time.Hour), Earliest: time.Now().Add(time.Hour)})
	o.progress.Flush()
	if !strings.Contains(errs.String(), "2 turns settled, 3 values released, next result at ") {
		t.Errorf("said: %s", errs)
	}
}
