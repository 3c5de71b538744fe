package watch

import "time"

// Repeat says when something that lasts is told again: at once, after a minute, and then at
// intervals that double up to StallMost. The zero value has told nothing; setting it to that says
// that what lasted is over. It has no clock: its callers pass the time.
type Repeat struct {
	next  time.Time
	pause time.Duration
}

// Told says whether it was told at all.
func (r *Repeat) Told() bool { return r.pause > 0 }

// Due says whether to tell it now. Then it counts as told.
func (r *Repeat) Due(now time.Time) bool {
	if r.Told() && now.Before(r.next) {
		return false
	}
	r.pause = min(2*max(r.pause, StallAfter), StallMost)
	r.next = now.Add(r.pause)
	return true
}
