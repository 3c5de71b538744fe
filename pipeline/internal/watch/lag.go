package watch

import (
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

// answerAge is the age of the last response about a partition after which its end counts as
// unknown. READ polls several times a second.
const answerAge = 10 * time.Second

// Lag returns how long ago the last record read was appended; 0 if it is the last one of the
// partition. If no broker has responded for a while, newer records may exist: the lag is then the
// time since the end of the partition was known. known is false if the topic has no append times.
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
