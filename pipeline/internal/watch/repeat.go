package watch

import "time"

// Repeat decides when a lasting condition is logged again: at once, after a minute, and then at
// intervals that double up to StallMost. The zero value has logged nothing; reset it when the
// condition is over. It has no clock: its callers pass the time.
type Repeat struct {
	next  time.Time
	pause time.Duration
}

// Reported returns whether it was logged at all.
func (r *Repeat) Reported() bool { return r.pause > 0 }

// Due returns whether to log it now; if so, it counts as logged.
func (r *Repeat) Due(now time.Time) bool {
	if r.Reported() && now.Before(r.next) {
		return false
	}
	r.pause = min(2*max(r.pause, StallAfter), StallMost)
	r.next = now.Add(r.pause)
	return true
}
