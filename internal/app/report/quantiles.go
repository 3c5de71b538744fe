package report

import (
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// joinQuantiles puts the quantiles of each metric together, since one picture shows them all.
func joinQuantiles(metrics []metricFacts) (out []metricFacts) {
	for _, m := range metrics {
		first := slices.IndexFunc(out, func(o metricFacts) bool {
			return m.known && metrickind.Of(m.Kind).Ranked && o.Kind == m.Kind && o.Of == m.Of
		})
		if first < 0 {
			out = append(out, m)
			continue
		}
		f := &out[first]
		if f.quantiles == nil {
			f.quantiles = []schemas.MetricSpec{f.MetricSpec}
		}
		f.quantiles = append(f.quantiles, m.MetricSpec)
	}
	return out
}

func (f metricFacts) joined() bool { return f.quantiles != nil }

func (f metricFacts) title() string {
	if f.joined() {
		return "quantiles of " + f.Of
	}
	return f.Name
}

// ranks writes the rank of a quantile, or all that are shown together.
func (f metricFacts) ranks() string {
	if !f.joined() {
		return rank(f.Max)
	}
	var texts []string
	for _, q := range f.quantiles {
		texts = append(texts, rank(q.Max))
	}
	return strings.Join(texts, ", ")
}

// valuesOf returns the values of a metric, or of the quantiles that are shown together; nil if none
// was released.
func (f metricFacts) valuesOf(released []*series) *series {
	find := func(id seriesID) *series {
		if at := slices.IndexFunc(released, func(s *series) bool { return s.id == id }); at >= 0 {
			return released[at]
		}
		return nil
	}
	if !f.joined() {
		return find(f.id())
	}
	out := &series{id: f.id()}
	for _, q := range f.quantiles {
		s := find(seriesID{q.Name, q.WindowSize})
		if s == nil {
			continue
		}
		for _, p := range s.points {
			p.key += int32(len(out.keys))
			out.points = append(out.points, p)
		}
		out.keys = append(out.keys, s.keys...)
		out.quantiles = append(out.quantiles, slices.Repeat([]schemas.MetricSpec{q}, len(s.keys))...)
		out.left.merge(s.left)
	}
	if out.quantiles == nil {
		return nil
	}
	return out
}
