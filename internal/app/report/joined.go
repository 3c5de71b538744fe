package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// joinParts puts the statistics of each metric together, since one picture shows them all: its
// quantiles by their ranks, or the shares of its buckets by their edges.
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

func (f metricFacts) ranked() bool { return metrickind.Of(f.Kind).Ranked }

func (f metricFacts) title() string {
	if f.joined() {
		return strings.ReplaceAll(metrickind.Of(f.Kind).Texts.Together, "{of}", f.Of)
	}
	return f.Name
}

// span returns the range of the values whose shares are shown together.
func (f metricFacts) span() (least, most int64) {
	least, most = f.Min, f.Max
	for _, part := range f.parts {
		least, most = min(least, part.Min), max(most, part.Max)
	}
	return least, most
}

// partTexts returns what tells each of the statistics from the others that are shown with it.
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

// buckets returns how many of the parts are shares of one bucket. They stand before the shares
// below edges.
func (f metricFacts) buckets() int {
	_, most := f.span()
	return 1 + slices.IndexFunc(f.parts, func(part schemas.MetricSpec) bool { return part.Max == most })
}

// ranks writes the rank of a quantile, or all that are shown together.
func (f metricFacts) ranks() string {
	if !f.joined() {
		return rank(f.Max)
	}
	return strings.Join(f.partTexts(), ", ")
}

// valuesOf returns the values of a metric, or of the statistics that are shown together; nil if
// none was released.
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
	out := &series{id: f.id(), of: find(seriesID{f.Of, f.WindowSize})}
	for i, part := range f.parts {
		s := find(seriesID{part.Name, part.WindowSize})
		if s == nil {
			continue
		}
		for _, p := range s.points {
			p.key += int32(len(out.keys))
			out.points = append(out.points, p)
		}
		out.keys = append(out.keys, s.keys...)
		out.parts = append(out.parts, slices.Repeat([]int{i}, len(s.keys))...)
		out.left.merge(s.left)
	}
	if out.parts == nil {
		return nil
	}
	return out
}

// sizes returns the total of a series by key.
func (s *series) sizes() map[string]float64 {
	sizes := map[string]float64{}
	for _, p := range s.points {
		sizes[s.keys[p.key]] += float64(p.value) / unit
	}
	return sizes
}
