package watch

import (
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

// Outlook says how far a run has read, and when its next counts can appear, from the deployment's
// rules of time and what READ knows. Times are UTC.
type Outlook struct {
	WindowEnd time.Time // of the next metric window whose counts are not released
	// Earliest is when the clock shows that every partition can have brought a record late enough
	// to close the window; Latest when the clock alone closes it, on partitions that are silent. A
	// partition whose end an open transaction hides can delay both. They mean nothing to records
	// whose times are not those of the clock.
	Earliest, Latest time.Time
	Closed           bool // the window is closed: its counts are under way
	// how far reading is behind the clock, by append times; 0 at the end of the events topic, if
	// its records are not behind the clock
	Lag time.Duration
}

// Closes returns when a window that ends at a time, in Unix milliseconds, can close: see Outlook.
// Counts appear at the next multiple of outputs.publish_every.
func (r *Rules) Closes(end int64) (earliest, latest time.Time) {
	after := func(wait time.Duration) time.Time {
		at := end + wait.Milliseconds()
		if every := r.publishEvery.Milliseconds(); every > 0 {
			at = calendar.Align(at+every-1, every)
		}
		return time.UnixMilli(at).UTC()
	}
	clock := r.lateness + r.skew + r.grace
	return after(min(r.lateness+r.slack, clock)), after(clock)
}

// Outlook returns the outlook by what READ knew last; false where that is too old to be judged by.
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
