package reading

import "time"

// lag is by how far the records of a partition are behind the clock when they arrive. A partition
// that pauses keeps it, so that the clock does not overtake records as old as its last ones.
// A single record keeps it over a short silence only, and nothing makes it longer than mostLag.
// Times are in milliseconds.
type lag struct {
	by      int64
	since   int64 // when the first record arrived that showed it
	lasting bool  // records have shown the lag for a grace
	over    bool  // the silence is too long for it
}

const (
	// mostLag bounds the lag, and the silence over which a partition keeps it.
	mostLag = 24 * time.Hour
	// briefGraces bounds, in graces, the silence over which a lag is kept that is not lasting.
	briefGraces = 10
)

// observe records the time of a record that has arrived at now.
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

// after returns the lag that a partition keeps after a silence.
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
