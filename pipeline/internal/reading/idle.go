package reading

import (
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

// applyIdleRule sets the watermark of a partition by the clock at the time of sending the fetch g.
// The partition must have been read to its end and have no open transaction. Producers' times may
// be far behind that clock. With them, the rule applies only once the partition has been silent for
// the grace period, and it subtracts the partition's lag from the clock. With append times the
// partition need not be silent, because the next append time is at most the skew behind the clock.
func (s *Source) applyIdleRule(p *partition, g *kafkalog.Fetched) {
	t := &s.dep.Config.Time
	grace := t.IdleGrace.Milliseconds()
	switch {
	case p.fetchedAt > 0 && g.RequestedAt-p.fetchedAt > unansweredLimit.Milliseconds():
		p.silentSince = g.RequestedAt // time without responses does not count as silence
	case p.silenceEnded && (p.atEnd || p.next == g.High && s.endless()):
		// A record that has waited on the topic would show too long a lag.
		p.lag.observe(p.appendTime, p.silentSince, grace)
	case p.silentSince == calendar.Never:
		p.silentSince = g.RequestedAt - grace
	}
	p.idleUntil, p.silenceEnded, p.atEnd = calendar.Never, false, p.next == g.High
	p.fetched, p.high, p.lastStable, p.fetchedAt = g.High >= 0, g.High, g.LastStable, g.RequestedAt
	if s.answeredAt == nil {
		s.answeredAt = map[int32]int64{}
	}
	s.answeredAt[p.id] = p.fetchedAt
	if s.opts.Bounded || g.High < 0 || p.next != g.High || g.High != g.LastStable {
		return
	}
	byClock := g.RequestedAt
	if t.Trust == deployment.TrustProducer {
		silence := byClock - p.silentSince
		if silence < grace {
			return
		}
		byClock -= p.lag.afterSilence(silence, grace)
	}
	p.idleUntil = byClock - t.Lateness.Milliseconds() - t.Skew.Milliseconds() - grace
}

// endless reports whether the run continues until it is stopped. A run with an end ignores a lag
// that it saw only in a backlog, because the producers may have ended since.
func (s *Source) endless() bool {
	return !s.opts.Bounded && !s.opts.UntilEnd && s.opts.Until.IsZero()
}
