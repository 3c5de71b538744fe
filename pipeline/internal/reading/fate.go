package reading

import (
	"errors"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
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
	past    []pastClock // those of earlier generations, oldest first
	turns   *calendar.Turns
	event   event.Event // of the last call
}

// judge decodes one record and tallies its fate. turn is 0 unless the record is accepted
// by its own times; the caller finds out whether a CLOSE has overtaken it. class is that
// of a dead letter, else "". now is the time of this machine's clock in Unix
// milliseconds. The partition's append time moves.
func (f *fates) judge(p *partition, r *kafkalog.Record, now int64, t *schemas.ReadTallies) (turn uint64, class string, err error) {
	by := f.clockOf(p.id, r.Offset)
	ahead := p.stampAhead(r, by, now)
	if !ahead && r.Timestamp > p.appendTime {
		p.appendTime = r.Timestamp
	}
	t.Read++
	if err := f.decoder.Decode(r.Value, &f.event); err != nil {
		var bad *event.Error
		if !errors.As(err, &bad) {
			return 0, "", err
		}
		t.DeadLettered[bad.Class]++
		return 0, bad.Class, nil
	}
	at := f.event.Millis
	switch {
	case at < f.turns.Start:
		t.BeforeStart++
	case at < minus(max(r.Timestamp, minus(p.appendTime, by.slack)), by.lateness) && !ahead:
		t.Late++
	case ahead, !by.noFuture && at > plus(r.Timestamp, by.skew):
		t.Future++
	default:
		return f.turns.Of(at), "", nil
	}
	return 0, "", nil
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
