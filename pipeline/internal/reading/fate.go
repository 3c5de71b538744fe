package reading

import (
	"errors"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// fates decides what becomes of records: dead letter, before the start, late,
// of the future, overtaken by a CLOSE, or accepted for a turn. All but
// "overtaken" and stamps ahead of this machine's clock depend only on the record, its
// append time and the append times before it in its partition.
type fates struct {
	decoder *event.Decoder
	clock   clock
	past    []pastClock     // those of earlier generations, oldest first
	turns   *calendar.Turns // nil: no event is before the start, and none has a turn
	event   event.Event     // of the last call
}

// verdict is what becomes of a record: its fate, the turn of one that is accepted, the
// class of a dead letter, and by how many milliseconds its time breaks the rule.
type verdict struct {
	watch.Fate
	turn  uint64
	class string
	off   uint64
}

// judge decodes one record and decides its fate. A record that is accepted is so by its
// own times; the caller finds out whether a CLOSE has overtaken it. now is the time of
// this machine's clock in Unix milliseconds. The partition's append time moves.
func (f *fates) judge(p *partition, r *kafkalog.Record, now int64) (verdict, error) {
	by := f.clockOf(p.id, r.Offset)
	ahead := p.stampAhead(r, by, now)
	if !ahead {
		p.advance(r, by, now)
	}
	if err := f.decoder.Decode(r.Value, &f.event); err != nil {
		var bad *event.Error
		if !errors.As(err, &bad) {
			return verdict{}, err
		}
		return verdict{Fate: watch.DeadLettered, class: bad.Class}, nil
	}
	at := f.event.Millis
	reached := max(r.Timestamp, minus(p.appendTime, by.slack))
	switch {
	case f.turns != nil && at < f.turns.Start:
		return verdict{Fate: watch.BeforeStart, off: apart(f.turns.Start, at)}, nil
	case at < minus(r.Timestamp, by.lateness) && !ahead:
		return verdict{Fate: watch.Late, off: apart(r.Timestamp, at)}, nil
	case at < minus(reached, by.lateness) && !ahead:
		return verdict{Fate: watch.Disordered, off: apart(reached, at)}, nil
	case ahead:
		return verdict{Fate: watch.Future, off: apart(r.Timestamp, now)}, nil
	case !by.noFuture && at > plus(r.Timestamp, by.skew):
		return verdict{Fate: watch.Future, off: apart(at, r.Timestamp)}, nil
	}
	v := verdict{Fate: watch.Accepted}
	if f.turns != nil {
		v.turn = f.turns.Of(at)
	}
	return v, nil
}

// apart returns later − earlier, also where an int64 cannot hold it.
func apart(later, earlier int64) uint64 { return uint64(later) - uint64(earlier) }

// tally counts a verdict in the tallies of a CLOSE.
func (v *verdict) tally(t *schemas.ReadTallies) {
	t.Read++
	switch v.Fate {
	case watch.Accepted:
		t.Accepted++
	case watch.Late, watch.Disordered:
		t.Late++
	case watch.Future:
		t.Future++
	case watch.BeforeStart:
		t.BeforeStart++
	case watch.Overtaken:
		t.Overtaken++
	case watch.DeadLettered:
		t.DeadLettered[v.class]++
	}
}

// pastClock is the clock that has judged, and judges again, the records below an offset
// of each partition.
type pastClock struct {
	clock
	below map[int32]int64
}

// clockOf returns the clock of the generation that has read a record first.
func (f *fates) clockOf(partition int32, offset int64) *clock {
	for i := range f.past {
		if offset < f.past[i].below[partition] {
			return &f.past[i].clock
		}
	}
	return &f.clock
}

// pastClocks returns the clocks of the generations before a header's.
func pastClocks(h *schemas.Header, present clock) []pastClock {
	var all []pastClock
	for i := range h.Past {
		g := &h.Past[i]
		c := pastClock{clock: present, below: map[int32]int64{}}
		c.lateness, c.skew, c.slack = g.Lateness, g.Skew, g.Slack
		for _, b := range g.Below {
			c.below[b.Partition] = b.Offset
		}
		all = append(all, c)
	}
	return all
}

func clockOf(d *deployment.Deployment) clock {
	t := &d.Config.Time
	return clock{
		trustProducer: t.Trust == deployment.TrustProducer, noFuture: t.NoFuture,
		lateness: t.Lateness.Milliseconds(), skew: t.Skew.Milliseconds(), slack: t.Slack.Milliseconds(),
	}
}
