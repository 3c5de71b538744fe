package deployment

import (
	"math"
	"math/big"
	"slices"
	"sort"
	"strconv"

	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// rankOf converts a rank to millionths.
func rankOf(rank float64) int64 { return int64(math.Round(rank * metrickind.RankUnit)) }

// ranks returns the metric's ranks in millionths, in the configured order.
func (m *Metric) ranks() (all []int64) {
	for _, rank := range m.Ranks {
		all = append(all, rankOf(rank))
	}
	return all
}

// QuantileName returns the name under which a quantile of a metric is released. rank is in
// millionths: the name is latency.p99.9 for 999,000.
func QuantileName(metric string, rank int64) string {
	return metric + ".p" + strconv.FormatFloat(float64(rank)/(metrickind.RankUnit/100), 'f', -1, 64)
}

// scale returns the scale of the trees of the metric's counts, or nil if they have none.
func (m *Metric) scale() *metrickind.Scale {
	if metrickind.Of(m.Kind).Tree == nil {
		return nil
	}
	scale, err := metrickind.Of(m.nodesKind()).Part.Nodes(m.bounds(), m.edges())
	if err != nil { // checkTree refuses such a metric
		return nil
	}
	return scale
}

func (m *Metric) nodesKind() string {
	nodes := metrickind.Of(m.Kind).Tree.Nodes
	if m.Scale == ScaleLogarithmic {
		return nodes[len(nodes)-1] // a histogram has one kind for both scales
	}
	return nodes[0]
}

// hasEdges reports whether the metric is a histogram.
func (m *Metric) hasEdges() bool {
	tree := metrickind.Of(m.Kind).Tree
	return tree != nil && tree.Edges
}

// edges returns the edges of a histogram. Without configured edges, it divides the range into
// buckets of the same width or, on a logarithmic scale, with the same ratio of upper to lower edge.
// Each edge is rounded to the nearest whole number. The arithmetic is exact.
func (m *Metric) edges() (all []int64) {
	if !m.hasEdges() {
		return nil
	}
	for _, edge := range m.Edges {
		all = append(all, int64(edge))
	}
	if all != nil {
		return all
	}
	n := int64(m.Buckets)
	for i := range n + 1 {
		edge := m.Min + nearestQuotient(i*(m.Max-m.Min), n)
		if m.Scale == ScaleLogarithmic {
			edge = nearestRoot(m.Min, m.Max, n-i, i)
		}
		all = append(all, edge)
	}
	return all
}

// nearestQuotient returns a/b rounded half up, for a ≥ 0 and b > 0.
func nearestQuotient(a, b int64) int64 { return (2*a + b) / (2 * b) }

// nearestRoot returns the (i + j)-th root of low^i·high^j, rounded half up: the greatest x from low
// to high with (2x − 1)^(i+j) ≤ 2^(i+j)·low^i·high^j.
func nearestRoot(low, high, i, j int64) int64 {
	power := func(base, exponent int64) *big.Int {
		return new(big.Int).Exp(big.NewInt(base), big.NewInt(exponent), nil)
	}
	limit := new(big.Int).Mul(power(low, i), power(high, j))
	limit.Lsh(limit, uint(i+j))
	steps := sort.Search(int(high-low), func(k int) bool { return power(2*(low+int64(k)+1)-1, i+j).Cmp(limit) > 0 })
	return low + int64(steps)
}

// checkTree checks the range, the target and the statistics of quantiles or a histogram.
func (m *Metric) checkTree(kind metrickind.Kind) error {
	switch {
	case m.Min == m.Max:
		return Invalid("Max", "a %s needs a min below max: values outside count as the nearer of the two, for example "+
			"min: 0, max: 100", kind.Texts.Label)
	case m.Target.Relative != 0:
		return Invalid("Target.Relative", "give an absolute target instead, %s: for example %s", kind.Tree.Unit,
			proposed("Metrics.Target.Absolute", kind.Tree.Target))
	}
	check := m.checkRanks
	if m.hasEdges() {
		check = m.checkEdges
	}
	if err := check(); err != nil {
		return err
	}
	if power, most := m.widestRange(); len(m.extraSums()) > 0 && m.Max-m.Min > most {
		return m.rangeTooWide(power, most)
	}
	return m.checkPrivate(kind)
}

func (m *Metric) checkRanks() error {
	switch {
	case len(m.Ranks) > mostRanks:
		return Invalid("Ranks", "%d ranks are listed, but at most %d are possible: remove some", len(m.Ranks),
			mostRanks)
	case len(m.Edges) > 0:
		return Invalid("Edges", onlyHistograms, "edges", proposed("Metrics.Kind", metrickind.Histogram))
	case m.Buckets != 0:
		return Invalid("Buckets", onlyHistograms, "buckets", proposed("Metrics.Kind", metrickind.Histogram))
	case m.Target.Absolute != 0 && !(m.Target.Absolute >= 1.0/metrickind.RankUnit && m.Target.Absolute < 0.5):
		return Invalid("Target.Absolute", "%v is out of range: the error of a rank must be from 0.000001 to below "+
			"0.5, for example 0.02", m.Target.Absolute)
	}
	for i, rank := range m.Ranks {
		if rankOf(rank) == 0 || rankOf(rank) == metrickind.RankUnit {
			return Invalid("Ranks", "%v is out of range: a rank must be above 0 and below 1, for example 0.95", rank)
		}
		if slices.Contains(m.ranks()[:i], rankOf(rank)) {
			return Invalid("Ranks", "%v is listed twice: remove one", rank)
		}
	}
	return nil
}

// onlyHistograms is the error text for a field that only histograms have.
const onlyHistograms = "only a histogram has %s: remove them, or give %s"

// onlyQuantiles is the error text for a metric of another kind that has ranks.
const onlyQuantiles = "only quantiles have ranks: remove them, or give %s"

func (m *Metric) checkEdges() error {
	switch n := len(m.Edges) - 1; {
	case len(m.Ranks) > 0:
		return Invalid("Ranks", onlyQuantiles, proposed("Metrics.Kind", metrickind.Quantiles))
	case m.Target.Absolute != 0 && !(m.Target.Absolute >= 0.001 && m.Target.Absolute < 50):
		return Invalid("Target.Absolute", "%v is out of range: the error of a share must be from 0.001 to below 50 "+
			"percentage points, for example 2", m.Target.Absolute)
	case n < 0 && m.Scale == ScaleLogarithmic && m.Min < 1:
		return Invalid("Min", "%d is out of range: logarithmic buckets must begin at 1 or above. Raise min, or list "+
			"edges", m.Min)
	case n < 0 && !rising(m.edges()):
		return Invalid("Buckets", "some of %d buckets from %d to %d would be empty: configure fewer, or move min and "+
			"max apart", m.Buckets, m.Min, m.Max)
	case n < 0:
		return nil
	case m.Buckets != 0:
		return Invalid("Buckets", "edges already define the buckets: remove buckets")
	case m.Scale == ScaleLogarithmic:
		return Invalid("Scale", "edges already define the buckets: remove the scale, or give buckets instead of edges")
	case n < 2 || n > metrickind.MostBuckets:
		return Invalid("Edges", "3 to %d edges are possible, not %d: add or remove some",
			metrickind.MostBuckets+1, n+1)
	}
	if edges := m.edges(); !rising(edges) {
		return Invalid("Edges", "edges must be in ascending order: list each edge once")
	} else if edges[0] != m.Min || edges[len(edges)-1] != m.Max {
		return Invalid("Max", "min and max, %d and %d, must be the outermost edges: leave them out, or correct them",
			m.Min, m.Max)
	}
	return nil
}

// outOfRange reports whether a number cannot be an edge.
func outOfRange(edge float64) bool { return edge != math.Trunc(edge) || math.Abs(edge) > maxSum }

func rising(edges []int64) bool {
	return slices.IsSorted(edges) && len(slices.Compact(slices.Clone(edges))) == len(edges)
}

// Statistics configures the values that quantiles and histograms compute from their counts, and the
// further values that are released with a metric. Other kinds use only Also.
type Statistics struct {
	// Ranks are the ranks of the released quantiles, rounded to multiples of 10^-6.
	Ranks []float64 `json:",omitempty"`
	// Edges are the edges of a histogram's buckets: whole numbers from -2^36 to 2^36, in ascending
	// order and in the unit of the values. The first and the last edge are Min and Max, which may
	// both be 0 instead. nil: the edges are computed from Buckets.
	Edges []float64 `json:",omitempty"`
	// Buckets is the number of buckets without Edges. 0: 10, or Max − Min if less, but at least 2.
	Buckets int `json:",omitempty"`
	// Scale selects how the range is divided, into Buckets or for quantiles. Default: ScaleLinear,
	// the only scale of a histogram with Edges.
	Scale string `json:",omitempty"`
	// Also lists further statistics to release with the metric's own values, from the same part of
	// the budget. metrickind.Kind.Also lists the possible ones.
	Also []string `json:",omitempty"`
}

// Scales of quantiles and histograms. ScaleLinear divides the range into parts of the same width.
// With ScaleLogarithmic, parts for quantiles get wider with their distance from Min. The edges of
// logarithmic buckets have a constant ratio, so Min must be at least 1.
const (
	ScaleLinear      = "linear"
	ScaleLogarithmic = "logarithmic"
)

// mostRanks is the maximum number of quantiles of one metric.
const mostRanks = 20

// defaultStatistics sets the empty fields of quantiles and histograms to their defaults.
func (m *Metric) defaultStatistics() {
	if metrickind.Of(m.Kind).Tree == nil {
		return
	}
	setDefault(&m.Scale, ScaleLinear)
	if !m.hasEdges() {
		if len(m.Ranks) == 0 {
			m.Ranks = settings.DefaultRanks()
		}
		return
	}
	if len(m.Edges) > 0 && m.Min == 0 && m.Max == 0 {
		m.Min, m.Max = int64(m.Edges[0]), int64(m.Edges[len(m.Edges)-1])
	}
	if len(m.Edges) == 0 {
		setDefault(&m.Buckets, int(min(10, max(m.Max-m.Min, 2))))
	}
}

// ShareName returns the name under which the share of a metric's values in a bucket is released:
// latency.from.10 for the bucket whose lower edge is 10.
func ShareName(metric string, edge int64) string {
	return metric + ".from." + strconv.FormatInt(edge, 10)
}

// BelowName returns the name of the share of a metric's values below an edge: latency.below.10.
func BelowName(metric string, edge int64) string {
	return metric + ".below." + strconv.FormatInt(edge, 10)
}

// AlsoName returns the name of a further value of a metric: latency.mean for the kind mean.
func AlsoName(metric, kind string) string { return metric + "." + kind }

func (m *Metric) checkAlso(kind metrickind.Kind) error {
	for i, statistic := range m.Also {
		switch possible := kind.Also(); {
		case len(possible) == 0:
			return Invalid("Also", "a metric of kind %s releases only its own value: leave also out", kind.Name)
		case !slices.Contains(possible, statistic):
			return Invalid("Also", "a metric of kind %s releases %s anyway: leave it out", kind.Name, statistic)
		case slices.Contains(m.Also[:i], statistic):
			return Invalid("Also", "%s is listed twice: remove one", statistic)
		}
	}
	return nil
}

// extraSums returns the kinds of the metric's further components that are sums.
func (m *Metric) extraSums() []metrickind.Kind {
	return metrickind.Of(m.Kind).ExtraSums(m.Also)
}

// statistics returns the definitions of the metrics that release quantiles, the shares of a
// histogram, or the values that Also lists.
func (m *Metric) statistics(first schemas.MetricSpec) (all []schemas.MetricSpec) {
	for _, statistic := range m.Also {
		spec := componentOf(first, metrickind.AlsoKind(statistic))
		spec.Name = AlsoName(m.Name, statistic)
		all = append(all, spec)
	}
	tree := metrickind.Of(m.Kind).Tree
	if tree == nil {
		return all
	}
	add := func(name string, least, most int64) {
		spec := componentOf(first, metrickind.Of(tree.Statistic))
		spec.Name, spec.Min, spec.Max, spec.Absolute = name, least, most, m.Target.Absolute
		all = append(all, spec)
	}
	for _, rank := range m.ranks() {
		add(QuantileName(m.Name, rank), 0, rank)
	}
	edges := m.edges()
	for i := 1; i < len(edges); i++ {
		add(ShareName(m.Name, edges[i-1]), edges[i-1], edges[i])
	}
	for i := 2; i+1 < len(edges); i++ { // the only bucket below edge 1 is the first, whose share is released already
		add(BelowName(m.Name, edges[i]), edges[0], edges[i])
	}
	return all
}

// partNames returns the names of the metrics derived from a metric's counts: its further
// components, the nodes of its tree, and its statistics.
func (m *Metric) partNames() (names []string) {
	kind := metrickind.Of(m.Kind)
	for _, sum := range m.extraSums() {
		names = append(names, sum.Beside(m.Name))
	}
	if kind.Tree != nil {
		names = append(names, metrickind.Of(m.nodesKind()).Beside(m.Name))
	}
	for _, s := range m.statistics(schemas.MetricSpec{}) {
		names = append(names, s.Name)
	}
	return names
}
