package reading

import (
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
)

// tellStalls hands over what READ knows, about once a second.
func (r *Source) tellStalls(settled uint64) {
	now := time.Now()
	if !r.stalls.Wants(now) {
		return
	}
	p := watch.Progress{End: calendar.Forever}
	next := r.closed + 1
	if !r.lastKnown || next <= r.last {
		p.End = r.fates.turns.End(next)
	}
	if r.opened > settled {
		p.Open, p.OpenedAt = r.opened, r.openedAt
	}
	spec := r.dep.Metrics[0].Spec
	for _, of := range r.partitions {
		if of.fetched {
			p.Partitions = append(p.Partitions, watch.Partition{ID: of.id, Next: of.next, High: of.high, LastStable: of.lastStable, HeldBack: of.watermark(spec) < p.End})
		}
	}
	r.stalls.See(now, p)
}
