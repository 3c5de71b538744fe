package watch

import (
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

// responseAge is how long a response proves where a partition ends.
const responseAge = 10 * time.Second

// Lag returns the time since the append time of the last record read, or 0 if the partition has no
// later record. If no broker has responded for responseAge, newer records may exist, and the lag is
// the time since the last response. known is false if the topic has no append times.
func (p *Partition) Lag(now time.Time) (lag time.Duration, known bool) {
	switch age := now.Sub(time.UnixMilli(p.RequestedAt)); {
	case p.Next < p.LastStable && p.AppendTime == calendar.Never:
		return 0, false
	case p.Next < p.LastStable:
		return max(0, now.Sub(time.UnixMilli(p.AppendTime))), true
	case age >= responseAge:
		return age, true
	}
	return 0, true
}
