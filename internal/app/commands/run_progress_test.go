package commands

import (
	"testing"
	"time"

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
