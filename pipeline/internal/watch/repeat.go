package watch

import "time"

// Repeat decides when to log a lasting condition: at once, after a minute, and then at intervals
// that double up to StallMost. The zero value means that nothing has been logged. Use a new Repeat
// when the condition is over. Callers pass the current time.
type Repeat struct {
	next  time.Time
	pause time.Duration
}

// Reported reports whether the condition was logged.
func (r *Repeat) Reported() bool { return r.pause > 0 }

// Due reports whether to log the condition now. If it returns true, the condition counts as logged.
func (r *Repeat) Due(now time.Time) bool {
	if r.Reported() && now.Before(r.next) {
		return false
	}
	r.pause = min(2*max(r.pause, StallAfter), StallMost)
	r.next = now.Add(r.pause)
	return true
}
