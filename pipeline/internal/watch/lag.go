package watch

import (
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

// responseAge is how long a partition's end counts as known after a response.
const responseAge = 10 * time.Second

// Lag returns the time since the append time of the last record read; 0 if it is the partition's
// last record. If no broker has responded for a while, newer records may exist, and the lag is the
// time since the last response. known is false if the topic does not have append times.
func (p *Partition) Lag(now time.Time) (lag time.Duration, known bool) {
	switch age := now.Sub(time.UnixMilli(p.Asked)); {
	case p.Next < p.LastStable && p.AppendTime == calendar.Never:
		return 0, false
	case p.Next < p.LastStable:
		return max(0, now.Sub(time.UnixMilli(p.AppendTime))), true
	case age >= responseAge:
		return age, true
	}
	return 0, true
}
