package reading

import "time"

// lag is how far the records of a partition are behind the clock when they arrive. A silent
// partition keeps its lag, so that the clock does not overtake records as old as the last ones. A
// lag that only one record had is kept only during a short silence. No lag is longer than maxLag.
// Times are in milliseconds.
type lag struct {
	millis  int64
	since   int64 // when the first record with this lag arrived
	lasting bool  // records have had this lag for a grace period
	expired bool  // the silence is too long for the lag to be kept
}

const (
	// maxLag limits a lag, and the silence during which it is kept.
	maxLag = 24 * time.Hour
	// briefGraces limits the silence during which a lag that is not lasting is kept, as a multiple
	// of the grace period.
	briefGraces = 10
)

// observe updates the lag for a record with the given time that arrives at now.
func (l *lag) observe(time, now, grace int64) {
	l.expired = false
	if time < now-maxLag.Milliseconds() {
		return
	}
	behind := max(0, now-time)
	if behind > l.millis+grace {
		l.since = now
	}
	l.millis, l.lasting = behind, now-l.since >= grace
}

// afterSilence returns the lag that remains after a silence.
func (l *lag) afterSilence(silence, grace int64) int64 {
	limit := briefGraces * grace
	if l.lasting {
		limit = max(limit, maxLag.Milliseconds())
	}
	if l.expired = silence > limit; l.expired {
		return 0
	}
	return l.millis
}
