package reading

import "time"

// lag is the time by which the records of a partition are behind the clock when they arrive. A
// silent partition keeps its lag, so that the clock does not overtake records as old as the last
// ones. A lag seen in only one record is kept only during a short silence. No lag is longer than
// maxLag. Times are in milliseconds.
type lag struct {
	by      int64
	since   int64 // arrival of the first record with this lag
	lasting bool  // records have had the lag for the grace period
	over    bool  // the silence is too long to keep it
}

const (
	// maxLag limits a lag, and the silence during which it is kept.
	maxLag = 24 * time.Hour
	// briefGraces limits the silence during which a lag that is not lasting is kept, in grace
	// periods.
	briefGraces = 10
)

// observe updates the lag for a record that arrives at now.
func (l *lag) observe(time, now, grace int64) {
	l.over = false
	if time < now-maxLag.Milliseconds() {
		return
	}
	by := max(0, now-time)
	if by > l.by+grace {
		l.since = now
	}
	l.by, l.lasting = by, now-l.since >= grace
}

// after returns the remaining lag after a silence.
func (l *lag) after(silence, grace int64) int64 {
	limit := briefGraces * grace
	if l.lasting {
		limit = max(limit, maxLag.Milliseconds())
	}
	if l.over = silence > limit; l.over {
		return 0
	}
	return l.by
}
