package reading

import (
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

// applyIdleRule sets the watermark of a partition that was read to its end, and has no open
// transaction, by the clock at the time of sending the fetch. Producers' times may be far behind
// that clock; with them, the rule applies only to a partition that has been silent for the grace
// period, and subtracts the partition's lag from the clock. With append times the partition need
// not be silent, because the next append time is at most the skew behind the clock.
func (s *Source) applyIdleRule(p *partition, g *kafkalog.Fetched) {
	t := &s.dep.Config.Time
	grace := t.IdleGrace.Milliseconds()
	switch {
	case p.asked > 0 && g.Asked-p.asked > unansweredLimit.Milliseconds():
		p.arrived = g.Asked // a time without responses is not a silence
	case p.news && (p.atEnd || p.next == g.High && s.endless()):
		// For a record that has waited on the topic, the lag would be too long.
		p.lag.observe(p.appendTime, p.arrived, grace)
	case p.arrived == calendar.Never:
		p.arrived = g.Asked - grace
	}
	p.idleUntil, p.news, p.atEnd = calendar.Never, false, p.next == g.High
	p.fetched, p.high, p.lastStable, p.asked = g.High >= 0, g.High, g.LastStable, g.Asked
	if s.answered == nil {
		s.answered = map[int32]int64{}
	}
	s.answered[p.id] = p.asked
	if s.opts.Bounded || g.High < 0 || p.next != g.High || g.High != g.LastStable {
		return
	}
	now := g.Asked
	if t.Trust == deployment.TrustProducer {
		silence := now - p.arrived
		if silence < grace {
			return
		}
		now -= p.lag.after(silence, grace)
	}
	p.idleUntil = now - t.Lateness.Milliseconds() - t.Skew.Milliseconds() - grace
}

// endless reports whether the run continues until it is stopped. A run with an end ignores a lag
// seen only in a backlog, because its producers may have ended.
func (s *Source) endless() bool {
	return !s.opts.Bounded && !s.opts.UntilEnd && s.opts.Until.IsZero()
}
