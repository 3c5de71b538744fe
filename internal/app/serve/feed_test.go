package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// An end of a turn that lies in the future decides nothing of the time of the last turn, unless
// values say the same.
func TestAForgedEndOfATurnDoesNotDecideTheTimeOfTheLastOne(t *testing.T) {
	t.Parallel()
	s, err := newServer(compiled(t, "127.0.0.1:1"), someOptions)
	if err != nil {
		t.Fatal(err)
	}
	f := newFeed(s, 10)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	future := now.AddDate(1000, 0, 0)
	for name, test := range map[string]struct {
		p    pipeline.Published
		want time.Time
	}{
		"of the past":                      {pipeline.Published{End: now.Add(-time.Hour)}, now.Add(-time.Hour)},
		"of now, by a clock that is ahead": {pipeline.Published{End: now.Add(clockMargin)}, now.Add(clockMargin)},
		"forged":                           {pipeline.Published{End: future}, time.Time{}},
		"forged, with values before it": {pipeline.Published{End: future,
			Releases: []schemas.Release{{WindowEnd: 3000}, {WindowEnd: 1000}}}, time.UnixMilli(3000)},
		"of made-up times, as its values are": {pipeline.Published{End: future,
			Releases: []schemas.Release{{WindowEnd: future.UnixMilli()}}}, future},
	} {
		if got := f.trustedEnd(&test.p, now); !got.Equal(test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Values of past events say when they were published, and are not overdue by the clock.
func TestValuesOfPastEventsAreNeverOverdue(t *testing.T) {
	t.Parallel()
	end := time.UnixMilli(monday)
	for after, past := range map[time.Duration]bool{time.Minute: false, 300 * 24 * time.Hour: true} {
		s := serveValues(t, nil)
		f := newFeed(s.server, 10)
		f.current = true
		if err := f.add(pipeline.Published{Turn: 1, End: end, Since: end, Published: end.Add(after)}); err != nil {
			t.Fatal(err)
		}
		if err := f.update(); err != nil {
			t.Fatal(err)
		}
		page := s.get("/").body
		if strings.Contains(page, " data-slide=") == past || strings.Contains(page, "The last ones were published at "+
			end.Add(after).UTC().Format("2006-01-02 15:04")+" UTC.") != past {
			t.Errorf("published after %v: %.300s", after, page)
		}
	}
}
