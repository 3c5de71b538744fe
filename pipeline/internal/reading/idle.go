package reading

import (
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

// applyIdleRule sets the watermark of a partition that was read to its end, and in which
// no transaction is open, by the wall clock as it was before the fetch was sent. The times of
// producers may be far behind that clock; with them, the rule applies only to a partition that has
// been silent for the grace. The next append time is at most the skew behind the clock, so with
// append times no silence is needed.
func (s *Source) applyIdleRule(p *partition, g *kafkalog.Fetched) {
	p.idleUntil = calendar.Never
	if p.asked > 0 && g.Asked-p.asked > unansweredLimit.Milliseconds() {
		p.arrived = g.Asked // while no fetch was answered, it was not silent
	}
	p.fetched, p.high, p.lastStable, p.asked = g.High >= 0, g.High, g.LastStable, g.Asked
	if s.answered == nil {
		s.answered = map[int32]int64{}
	}
	s.answered[p.id] = p.asked
	if s.opts.Bounded || g.High < 0 || p.next != g.High || g.High != g.LastStable {
		return
	}
	t := &s.dep.Config.Time
	if t.Trust == deployment.TrustProducer && g.Asked < plus(p.arrived, t.IdleGrace.Milliseconds()) {
		return
	}
	p.idleUntil = g.Asked - t.Lateness.Milliseconds() - t.Skew.Milliseconds() - t.IdleGrace.Milliseconds()
}
