package deployment

import (
	"math"
	"slices"
	"strconv"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// rankOf returns a rank in millionths.
func rankOf(rank float64) int64 { return int64(math.Round(rank * metrickind.RankUnit)) }

// ranks returns the metric's ranks in millionths, in their order.
func (m *Metric) ranks() (all []int64) {
	for _, rank := range m.Ranks {
		all = append(all, rankOf(rank))
	}
	return all
}

// QuantileName returns the name under which the quantile of a rank, in millionths, is released
// beside a metric: latency.p99.9 for 999,000.
func QuantileName(metric string, rank int64) string {
	return metric + ".p" + strconv.FormatFloat(float64(rank)/(metrickind.RankUnit/100), 'f', -1, 64)
}

// checkTree checks the ranks, the range and the target of quantiles.
func (m *Metric) checkTree(kind metrickind.Kind) error {
	at := func(field string) string { return "metrics." + m.Name + "." + field }
	switch {
	case len(m.Ranks) > mostRanks:
		return Invalid(at("ranks"), "%d ranks are listed, and at most %d are possible: remove some", len(m.Ranks), mostRanks)
	case m.Min == m.Max:
		return Invalid(at("bounds.max"), "a %s needs a min below max: values outside count as the nearer of the two, for example min: 0, max: 100", kind.Texts.Label)
	case m.Target.Relative != 0:
		return Invalid(at("target.relative"), "the target of a quantile is the error of its rank: give an absolute one, for example absolute: 0.02. It allows any value between the quantiles of 48 and 52 %% for the median")
	case m.Target.Absolute != 0 && !(m.Target.Absolute >= 1.0/metrickind.RankUnit && m.Target.Absolute < 0.5):
		return Invalid(at("target.absolute"), "%v is out of range: the error of a rank must be from 0.000001 to below 0.5, for example 0.02", m.Target.Absolute)
	}
	for i, rank := range m.Ranks {
		if !(rank > 0 && rank < 1) || rankOf(rank) == 0 || rankOf(rank) == metrickind.RankUnit {
			return Invalid(at("ranks"), "%v is out of range: a rank must be above 0 and below 1, for example 0.95", rank)
		}
		if slices.Contains(m.ranks()[:i], rankOf(rank)) {
			return Invalid(at("ranks"), "%v is listed twice: remove one", rank)
		}
	}
	return m.checkPrivate(kind)
}

// mostRanks is the most quantiles of one metric.
const mostRanks = 20

// statistics returns the definitions of the metrics in which a metric's quantiles are released.
func (m *Metric) statistics(of schemas.MetricSpec) (all []schemas.MetricSpec) {
	tree := metrickind.Of(m.Kind).Tree
	if tree == nil {
		return nil
	}
	for _, rank := range m.ranks() {
		spec := partOf(of, metrickind.Of(tree.Statistic))
		spec.Name, spec.Min, spec.Max, spec.Absolute = QuantileName(m.Name, rank), 0, rank, m.Target.Absolute
		all = append(all, spec)
	}
	return all
}

// partNames returns the names of the metrics that are derived from a metric's counts: its further
// components, the nodes of its tree, and its quantiles.
func (m *Metric) partNames() (names []string) {
	kind := metrickind.Of(m.Kind)
	for _, further := range kind.Further() {
		names = append(names, further.Beside(m.Name))
	}
	if kind.Tree != nil {
		names = append(names, metrickind.Of(kind.Tree.Nodes).Beside(m.Name))
	}
	for _, rank := range m.ranks() {
		names = append(names, QuantileName(m.Name, rank))
	}
	return names
}
