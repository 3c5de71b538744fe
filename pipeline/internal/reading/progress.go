package reading

import (
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
)

// reportProgress reports READ's progress to package watch, about once a second.
func (s *Source) reportProgress(settled uint64) {
	now := time.Now()
	if !s.stalls.Due(now) {
		return
	}
	p := watch.Progress{End: calendar.Forever, Result: s.classifier.turns.NextEnd(settled), Behind: calendar.Forever}
	next := s.closed + 1
	if !s.noRecords && next <= s.lastOwed() {
		p.End = s.classifier.turns.End(next)
	}
	if s.opened > settled {
		p.Open, p.OpenedAt = s.opened, s.openedAt
	}
	p.Closed = s.closed > settled && s.classifier.turns.End(s.closed) >= p.Result
	spec := s.dep.Metrics[0].Spec
	for _, part := range s.partitions {
		if part.fetched {
			state := watch.Partition{ID: part.id, Next: part.next, High: part.high, LastStable: part.lastStable,
				RequestedAt: part.fetchedAt, HeldBack: part.watermark(spec) <
					p.End, AppendTime: part.appendTime, SilentFrom: calendar.Never}
			delayed := false // the clock cannot close the turn yet, because records are behind it
			if t := &s.dep.Config.Time; t.Trust == deployment.TrustProducer {
				state.SilentFrom, state.Delay = part.silentSince, time.Duration(part.lag.millis)*time.Millisecond
				delayed = state.HeldBack &&
					p.End < minus(now.UnixMilli(), (t.Lateness+t.Skew+t.IdleGrace).Milliseconds())
			}
			p.Partitions = append(p.Partitions, state)
			if (part.next < part.lastStable || delayed) && part.appendTime != calendar.Never {
				p.Behind = min(p.Behind, part.appendTime)
			}
		}
	}
	s.stalls.Observe(now, p)
}
