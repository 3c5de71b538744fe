package pipeline

import (
	"errors"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// fates decides what becomes of records: dead letter, before the start, late,
// of the future, overtaken by a CLOSE, or accepted for a turn. All but
// "overtaken" and stamps ahead of the reader's clock depend on the record, its
// append time and the append times before it in its partition.
type fates struct {
	decoder *schemas.EventDecoder
	clock   clock
	turns   turns
	event   schemas.Event // of the last call
}

// judge reads one record. turn is 0 unless the record is accepted by its own
// times; whether a CLOSE has overtaken it is for the caller to say. The
// partition's append time moves.
func (f *fates) judge(p *partition, r *klog.Record, now int64, t *schemas.ReadTallies) (turn uint64, class string, err error) {
	ahead := p.stampAhead(r, &f.clock, now)
	if !ahead && r.Timestamp > p.appendTime {
		p.appendTime = r.Timestamp
	}
	t.Read++
	if err := f.decoder.Decode(r.Value, &f.event); err != nil {
		var bad *schemas.EventError
		if !errors.As(err, &bad) {
			return 0, "", err
		}
		t.DeadLettered[bad.Class]++
		return 0, bad.Class, nil
	}
	at := f.event.Millis
	switch {
	case at < f.turns.start:
		t.BeforeStart++
	case at < max(r.Timestamp, p.latest(&f.clock))-f.clock.lateness && !ahead:
		t.Late++
	case ahead, !f.clock.noFuture && at > r.Timestamp+f.clock.skew:
		t.Future++
	default:
		return f.turns.of(at), "", nil
	}
	return 0, "", nil
}

// latest is A − slack, or as early as can be when there is no A yet.
func (p *partition) latest(c *clock) int64 {
	if p.appendTime == never {
		return never / 2
	}
	return p.appendTime - c.slack
}
