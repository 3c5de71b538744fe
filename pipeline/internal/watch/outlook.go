package watch

import (
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

// Outlook holds the fields of pipeline.Progress.
type Outlook struct {
	WindowEnd, Earliest, Latest time.Time
	Closed                      bool
	Lag                         time.Duration
}

// Closes returns the Earliest and Latest of pipeline.Progress for a window that ends at a time in
// Unix milliseconds. Both are multiples of outputs.publish_every, when counts appear.
func (r *Rules) Closes(end int64) (earliest, latest time.Time) {
	after := func(wait time.Duration) time.Time {
		latest := end + wait.Milliseconds()
		if every := r.publishEvery.Milliseconds(); every > 0 {
			latest = calendar.Align(latest+every-1, every)
		}
		return time.UnixMilli(latest).UTC()
	}
	clock := r.lateness + r.skew + r.grace
	return after(min(r.lateness+r.slack, clock)), after(clock)
}

// Outlook returns what READ's last progress implies, or false if that is older than stallFresh.
func (s *Stalls) Outlook(now time.Time) (Outlook, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.seenAt) >= stallFresh {
		return Outlook{}, false
	}
	o := Outlook{WindowEnd: time.UnixMilli(s.seen.Result).UTC(), Closed: s.seen.Closed}
	o.Earliest, o.Latest = s.rules.Closes(s.seen.Result)
	if read := time.UnixMilli(s.seen.Behind); read.Before(now) {
		o.Lag = now.Sub(read)
	}
	return o, true
}
