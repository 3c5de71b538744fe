package watch

import (
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

// answerAge is how old the last answer about a partition may be before the partition is not known
// to have been read to its end. READ asks several times a second.
const answerAge = 10 * time.Second

// Lag returns how long ago the last record that was read was appended; 0 where it is the last one
// of the partition. Where no broker has answered for a while, records may have come since: it is
// then the time since the end of the partition was known. known is false where the topic has no
// append times.
func (p *Partition) Lag(now time.Time) (lag time.Duration, known bool) {
	switch age := now.Sub(time.UnixMilli(p.Asked)); {
	case p.Next < p.LastStable && p.AppendTime == calendar.Never:
		return 0, false
	case p.Next < p.LastStable:
		return max(0, now.Sub(time.UnixMilli(p.AppendTime))), true
	case age >= answerAge:
		return age, true
	}
	return 0, true
}
