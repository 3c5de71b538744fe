package reading

import "time"

// lag is how far the records of a partition are behind the clock when they arrive. A silent
// partition keeps it, so that the clock does not overtake records as old as the last ones. A lag
// that only a single record has shown is kept over a short silence only. No lag is longer than
// mostLag. Times are in milliseconds.
type lag struct {
	by      int64
	since   int64 // arrival of the first record with this lag
	lasting bool  // records have shown the lag for the grace
	over    bool  // the silence is too long to keep it
}

const (
	// mostLag limits a lag, and the silence over which it is kept.
	mostLag = 24 * time.Hour
	// briefGraces limits the silence over which a lag that is not lasting is kept, in graces.
	briefGraces = 10
)

// observe updates the lag for a record that arrives at now.
func (l *lag) observe(time, now, grace int64) {
	l.over = false
	if time < now-mostLag.Milliseconds() {
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
	most := briefGraces * grace
	if l.lasting {
		most = max(most, mostLag.Milliseconds())
	}
	if l.over = silence > most; l.over {
		return 0
	}
	return l.by
}
