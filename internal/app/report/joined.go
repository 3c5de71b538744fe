package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// joinParts joins the statistics of each metric, because one chart shows them together: quantiles
// in the order of their ranks, or bucket shares in the order of their edges.
func joinParts(metrics []metricFacts) (out []metricFacts) {
	for _, m := range metrics {
		first := slices.IndexFunc(out, func(o metricFacts) bool {
			return m.known && metrickind.Of(m.Kind).Statistic != nil && o.Kind == m.Kind && o.Of == m.Of
		})
		if first < 0 {
			out = append(out, m)
			continue
		}
		f := &out[first]
		if f.parts == nil {
			f.parts = []schemas.MetricSpec{f.MetricSpec}
		}
		f.parts = append(f.parts, m.MetricSpec)
	}
	for _, f := range out {
		if f.ranked() {
			slices.SortStableFunc(f.parts, func(a, b schemas.MetricSpec) int { return cmp.Compare(a.Max, b.Max) })
		}
	}
	return out
}

func (f metricFacts) joined() bool { return f.parts != nil }

func (f metricFacts) ranked() bool {
	s := metrickind.Of(f.Kind).Statistic
	return s != nil && s.Ranked
}

func (f metricFacts) title() string {
	if f.joined() {
		return strings.ReplaceAll(metrickind.Of(f.Kind).Texts.Together, "{of}", cmp.Or(f.subject, f.Of))
	}
	return f.Name
}

// span returns the range of values that joined shares cover.
func (f metricFacts) span() (least, most int64) {
	least, most = f.Min, f.Max
	for _, part := range f.parts {
		least, most = min(least, part.Min), max(most, part.Max)
	}
	return least, most
}

// partTexts returns texts that distinguish joined statistics.
func (f metricFacts) partTexts() (texts []string) {
	least, most := f.span()
	for _, part := range f.parts {
		text := rank(part.Max)
		if !f.ranked() {
			text = terminal.Bucket(part.Min, part.Max, least, most)
		}
		texts = append(texts, text)
	}
	return texts
}

// buckets returns the number of parts that are shares of a single bucket. These parts precede the
// shares of all values below an edge.
func (f metricFacts) buckets() int {
	_, most := f.span()
	return 1 + slices.IndexFunc(f.parts, func(part schemas.MetricSpec) bool { return part.Max == most })
}

// ranks formats the rank of a quantile, or the ranks of joined quantiles.
func (f metricFacts) ranks() string {
	if !f.joined() {
		return rank(f.Max)
	}
	return strings.Join(f.partTexts(), ", ")
}

// valuesOf returns the values of a metric or of joined statistics, or nil if no value was released.
func (f metricFacts) valuesOf(released []*series) *series {
	if !f.joined() {
		return find(released, f.id())
	}
	out := &series{id: f.id()}
	for i, part := range f.parts {
		s := find(released, seriesID{part.Name, part.WindowSize})
		if s == nil {
			continue
		}
		for _, p := range s.points {
			p.key += int32(len(out.keys))
			out.points = append(out.points, p)
		}
		out.keys = append(out.keys, s.keys...)
		out.parts = append(out.parts, slices.Repeat([]int{i}, len(s.keys))...)
		out.dropped.merge(s.dropped)
	}
	if out.parts == nil {
		return nil
	}
	return out
}

// find returns the series with an id, or nil if there is none.
func find(released []*series, id seriesID) *series {
	if i := slices.IndexFunc(released, func(s *series) bool { return s.id == id }); i >= 0 {
		return released[i]
	}
	return nil
}

// sizing holds the sizes of keys. A chart orders keys by size.
type sizing struct {
	quantity string // name of the quantity; "" if the values themselves are the sizes
	keys     map[string]float64
}

// sizing returns the sizes of the keys of a statistic. It takes them from the metric that the
// statistic belongs to, so that all charts of the metric begin with the same keys, whatever the
// units of their values.
func (p promise) sizing(f metricFacts, released []*series) sizing {
	index := slices.IndexFunc(p.metrics, func(parent metricFacts) bool { return parent.Name == f.Of })
	values := find(released, seriesID{f.Of, f.WindowSize})
	if index < 0 || values == nil || metrickind.Of(f.Kind).Statistic == nil {
		return sizing{}
	}
	out, n := sizing{"number of events", map[string]float64{}}, map[string]float64{}
	for _, p := range values.points {
		key := values.keys[p.key]
		out.keys[key] += float64(p.value) / unit
		n[key]++
	}
	parent := metrickind.Of(p.metrics[index].Kind)
	if parent.Fine() { // a sum of means has no meaning
		out.quantity = parent.Texts.Label
	}
	for key := range out.keys {
		if parent.Fine() {
			out.keys[key] /= n[key]
		} else {
			out.keys[key] = math.Round(out.keys[key])
		}
	}
	return out
}
