package watch

import (
	"log/slog"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

// When a window closes follows from the rules of time alone.
func TestWhenAWindowCloses(t *testing.T) {
	base := Rules{lateness: 10 * time.Second, slack: 5 * time.Second, skew: time.Minute, grace: 2 * time.Minute}
	for _, test := range []struct {
		name             string
		change           func(*Rules)
		earliest, latest time.Duration
	}{
		{"as it is", func(*Rules) {}, 15 * time.Second, 190 * time.Second},
		{"a slack beyond the clock's wait", func(r *Rules) {
			r.slack = time.Hour
		}, 190 * time.Second, 190 * time.Second},
		{"published every minute", func(r *Rules) { r.publishEvery = time.Minute }, time.Minute, 4 * time.Minute},
		{"published every 7 s since 1970", func(r *Rules) {
			r.publishEvery = 7 * time.Second
		}, 21 * time.Second, 196 * time.Second},
	} {
		rules := base
		test.change(&rules)
		earliest, latest := rules.Closes(stallNoon.UnixMilli())
		if earliest != stallNoon.Add(test.earliest) || latest != stallNoon.Add(test.latest) {
			t.Errorf("%s: %v to %v", test.name, earliest.Sub(stallNoon), latest.Sub(stallNoon))
		}
	}
}

func TestTheOutlookIsOfWhatIsKnownNow(t *testing.T) {
	s := New(Rules{lateness: time.Minute}, slog.New(slog.DiscardHandler))
	if _, known := s.Outlook(stallNoon); known {
		t.Error("nothing was read, and there is an outlook")
	}
	s.Observe(stallNoon, Progress{Result: windowEnd(time.Hour), Behind: calendar.Forever})
	o, known := s.Outlook(stallNoon.Add(time.Second))
	if !known || o.WindowEnd != stallNoon.Add(time.Hour) || o.Earliest != o.WindowEnd.Add(time.Minute) ||
		o.Latest != o.WindowEnd.Add(time.Minute) || o.Lag != 0 {
		t.Errorf("%+v, %v", o, known)
	}
	s.Observe(stallNoon, Progress{Result: windowEnd(0), Behind: windowEnd(-time.Hour), Closed: true})
	if o, known = s.Outlook(stallNoon); !known || o.Lag != time.Hour || !o.Closed {
		t.Errorf("%+v, %v", o, known)
	}
	if _, known = s.Outlook(stallNoon.Add(stallFresh)); known {
		t.Error("what is not read any more still has an outlook")
	}
}
