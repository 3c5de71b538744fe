package reading

import (
	"errors"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// classifier decides the outcome of a record from its contents and timestamps: skipped, dead
// letter, before the start, late, in the future, or accepted for a turn. The outcome depends only
// on the record, its append time and the earlier append times in its partition. Only for append
// times ahead of this machine's clock does it depend on that clock.
type classifier struct {
	decoder     *event.Decoder
	filtered    bool // all metrics have filters: a broken record that passes none is skipped
	rules       timeRules
	past        []pastTimeRules // time rules of earlier generations, oldest first
	turns       *calendar.Turns // nil: events are not assigned to turns
	event       event.Event     // the event that classify decoded last
	uncertainty int64           // how far the true time may be after classify's now, in milliseconds
}

// noTimestamp is the timestamp of a Kafka record that was written without one.
const noTimestamp = -1

// classification is a record's outcome, an accepted record's turn, and a dead letter's class.
type classification struct {
	watch.Outcome
	turn  uint64
	class string
}

// classify decodes a record, decides its outcome and advances the partition's append time. The
// caller must check whether a CLOSE has overtaken an accepted record. now is the time of this
// machine's clock in Unix milliseconds.
func (f *classifier) classify(p *partition, r *kafkalog.Record, now int64) (classification, error) {
	rules := f.rulesAt(p.id, r.Offset)
	ahead := p.stampAhead(r, rules, plus(now, f.uncertainty))
	if !ahead {
		p.advance(r, rules, now)
	}
	if err := f.decoder.Decode(r.Value, &f.event); err != nil {
		var bad *event.Error
		if !errors.As(err, &bad) {
			return classification{}, err
		}
		if bad.Class == event.ClassSkipped || f.filtered && f.event.Passes == 0 {
			return classification{Outcome: watch.Skipped}, nil
		}
		return classification{Outcome: watch.DeadLettered, class: bad.Class}, nil
	}
	millis := f.event.Millis
	reached := max(r.Timestamp, minus(p.appendTime, rules.slack))
	switch {
	case f.turns != nil && millis < f.turns.Start:
		return classification{Outcome: watch.BeforeStart}, nil
	case millis < minus(reached, rules.lateness) && !ahead:
		return classification{Outcome: watch.Late}, nil
	case ahead:
		return classification{Outcome: watch.Future}, nil
	case !rules.acceptFuture && millis > plus(r.Timestamp, rules.skew) && r.Timestamp == noTimestamp:
		return classification{Outcome: watch.Unstamped}, nil
	case !rules.acceptFuture && millis > plus(r.Timestamp, rules.skew):
		return classification{Outcome: watch.Future}, nil
	}
	v := classification{Outcome: watch.Accepted}
	if f.turns != nil {
		v.turn = f.turns.Of(millis)
	}
	return v, nil
}

// tally adds a classification to the tallies of a CLOSE.
func (v *classification) tally(t *schemas.ReadTallies) {
	t.Read++
	switch v.Outcome {
	case watch.Accepted:
		t.Accepted++
	case watch.Late:
		t.Late++
	case watch.Future, watch.Unstamped:
		t.Future++
	case watch.BeforeStart:
		t.BeforeStart++
	case watch.Overtaken:
		t.Overtaken++
	case watch.Skipped:
		t.Skipped++
	case watch.DeadLettered:
		t.DeadLettered[v.class]++
	}
}

// pastTimeRules holds the time rules of an earlier generation. They apply to the records below an
// offset of each partition.
type pastTimeRules struct {
	timeRules
	below map[int32]int64
}

// rulesAt returns the time rules of the generation that first read a record.
func (f *classifier) rulesAt(partition int32, offset int64) *timeRules {
	for i := range f.past {
		if offset < f.past[i].below[partition] {
			return &f.past[i].timeRules
		}
	}
	return &f.rules
}

// pastTimeRulesOf returns the time rules of the generations before that of header h, oldest first.
func pastTimeRulesOf(h *schemas.Header, current timeRules) []pastTimeRules {
	var all []pastTimeRules
	for i := range h.Past {
		g := &h.Past[i]
		c := pastTimeRules{timeRules: current, below: map[int32]int64{}}
		c.lateness, c.skew, c.slack = g.Lateness, g.Skew, g.Slack
		for _, b := range g.Below {
			c.below[b.Partition] = b.Offset
		}
		all = append(all, c)
	}
	return all
}

// allFiltered reports whether every metric has a filter.
func allFiltered(d *deployment.Deployment) bool {
	return !slices.ContainsFunc(d.Config.Metrics, func(m deployment.Metric) bool {
		return m.Filter == "" && !metrickind.Of(m.Kind).Share
	})
}

func timeRulesOf(d *deployment.Deployment) timeRules {
	t := &d.Config.Time
	return timeRules{
		trustProducer: t.Trust == deployment.TrustProducer, acceptFuture: t.AcceptFuture,
		lateness: t.Lateness.Milliseconds(), skew: t.Skew.Milliseconds(), slack: t.Slack.Milliseconds(),
	}
}

// isOvertaken reports whether a record is at or after the cut for its turn. The cut is in the
// turn's CLOSE or, until that is written, in this group's PASSED. If the CLOSE of a settled turn is
// no longer in memory, the cut is talliedTo: records below it were read before the CLOSE, and new
// ones are after the cut.
func (s *Source) isOvertaken(id int32, offset int64, turn uint64) bool {
	if turn > max(s.closed, s.lastPassed.turn) {
		return false
	}
	overtaken, known := false, false
	s.control.WithView(func(v *controllog.View) {
		if c := v.Closes[turn]; c != nil {
			known = true
			overtaken = offset >= cutOf(c.Cuts, id)
		}
	})
	if known {
		return overtaken
	}
	for _, p := range s.partitions {
		if p.id == id {
			return offset >= p.talliedTo
		}
	}
	return true
}

// cutOf returns the cut of a partition, or 0 if the CLOSE has none.
func cutOf(cuts []schemas.Cut, id int32) int64 {
	for _, c := range cuts {
		if c.Partition == id {
			return c.Cut
		}
	}
	return 0
}
