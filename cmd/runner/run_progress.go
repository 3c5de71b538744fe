package main

import (
	"time"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// expect shows what the run waits for.
func (o *runOutput) expect(p pipeline.Progress) {
	o.mu.Lock()
	first := o.published == 0
	o.mu.Unlock()
	o.progress.Status(expecting(p, time.Now(), first, o.certain))
}

// expecting says when the next counts can appear, and how far behind reading is. certain says that
// there are public keys: private ones may all lack users, so that a window gives no count.
func expecting(p pipeline.Progress, now time.Time, first, certain bool) string {
	which, done := "next", " result"
	if first {
		which = "first"
	}
	if !certain {
		done = " window done"
	}
	lag := ""
	if p.Lag >= lagFrom {
		lag = "reading " + p.Lag.Round(time.Second).String() + " behind the clock"
	}
	switch {
	case p.Closed:
		return which + done + " soon: it is being released"
	case now.Before(p.Earliest) && lag != "":
		return which + done + " at " + moment(p.Earliest, now) + ", " + lag
	case now.Before(p.Earliest):
		return which + done + " at " + moment(p.Earliest, now)
	case lag != "":
		return lag
	case now.Before(p.Latest):
		return which + done + " by " + moment(p.Latest, now)
	}
	return which + done + " is due"
}

// lagFrom is how far reading may be behind the clock without a word: records are under way for a
// while.
const lagFrom = 5 * time.Second

// moment writes a time of the clock in UTC, to the second above; with the date where that is not
// today's.
func moment(t, now time.Time) string {
	t, now = t.Add(time.Second-1).UTC().Truncate(time.Second), now.UTC()
	layout := "15:04:05Z"
	if t.YearDay() != now.YearDay() || t.Year() != now.Year() {
		layout = "2006-01-02 15:04:05Z"
	}
	return t.Format(layout)
}
