package spend

import (
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
)

// Inherit gives the rules the generations before them: slices of windows that are still open
// may be from an earlier generation, which numbered filters and metrics differently. from is the
// first turn of the generation whose rules these are. It must be called before the rules are used.
func (r *Rules) Inherit(past []schemas.PastGeneration, from uint64) {
	r.from, r.past = from, nil
	specs := make([]schemas.MetricSpec, len(r.metrics))
	for i := range r.metrics {
		specs[i] = r.metrics[i].spec
	}
	now := schemas.Filters(specs)
	for i := range past {
		h := heritage{from: past[i].FromTurn}
		for _, f := range past[i].Filters {
			h.filters = append(h.filters, slices.Index(now, f))
		}
		for _, m := range past[i].Metrics {
			h.metrics = append(h.metrics, slices.IndexFunc(r.metrics, func(n metric) bool { return n.spec.Name == m.Name }))
		}
		r.past = append(r.past, h)
	}
}

// heritage maps an earlier generation's numbers of filters and metrics to those of today: −1 for
// one that no longer exists.
type heritage struct {
	from    uint64
	filters []int
	metrics []int
}

// inherited renumbers the slice of a turn of an earlier generation.
func (r *Rules) inherited(o *schemas.OpenSlice) {
	if o.Turn >= r.from {
		return
	}
	at := len(r.past) - 1
	for at > 0 && r.past[at].from > o.Turn {
		at--
	}
	if at < 0 {
		return
	}
	h := &r.past[at]
	labels := make([]schemas.Label, len(o.Labels))
	for i, l := range o.Labels {
		labels[i].Key = l.Key
		for old, now := range h.filters {
			if now >= 0 && l.Passes>>old&1 == 1 {
				labels[i].Passes |= 1 << now
			}
		}
	}
	filtered := make([]uint64, len(r.metrics))
	for old, now := range h.metrics {
		if now >= 0 && old < len(o.Filtered) {
			filtered[now] += o.Filtered[old]
		}
	}
	o.Labels, o.Filtered = labels, filtered
}
