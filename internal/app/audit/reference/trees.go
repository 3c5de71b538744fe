package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
)

// hasTree reports whether a kind counts values in the nodes of a tree or in buckets.
func hasTree(kind string) bool { return kind == "quantiles" || kind == "histogram" }

// isNodes reports whether a metric counts the events in another metric's tree nodes or buckets.
func isNodes(m schemas.MetricSpec) bool {
	return slices.Contains([]string{"quantile_nodes", "quantile_log_nodes", "histogram_buckets"}, m.Kind)
}

// isStatistic reports whether a metric is computed from the draws of another one.
func isStatistic(m schemas.MetricSpec) bool {
	return m.Kind == "quantile" || m.Kind == "bucket_share" || strings.HasPrefix(m.Kind, "also_")
}

// nodesOf returns the index of the metric that counts the events in a metric's nodes or buckets.
func (c *Config) nodesOf(metric int) int {
	return slices.IndexFunc(c.Metrics, func(m schemas.MetricSpec) bool {
		return isNodes(m) && m.Of == c.Metrics[metric].Name
	})
}

// chargeTree returns the price that one individual pays for the nodes of one key's tree:
// ⌈u·Σn²·2^-40⌉ over the nodes whose parents are drawn, where n is the number of its values in a
// node. drawn returns the precision at which the children of a cell's node were drawn, or 0.
func (c *Config) chargeTree(metric int, key string, values []int64,
	drawn func(nodes int, cell string) units.Precision) int64 {
	if !hasTree(c.Metrics[metric].Kind) {
		return 0
	}
	nodes, steps, counts := c.nodesOf(metric), c.stepsOf(metric), map[node]uint64{}
	for _, v := range values {
		for _, n := range steps.nodesWith(v) {
			counts[n]++
		}
	}
	squares := uint64(0) // at most 5·MostEvents²: a tree has at most five levels
	for n, events := range counts {
		if !drawn(nodes, n.parent().cell(key)).IsZero() {
			squares += events * events
		}
	}
	return chargeSquares(squares, drawn(nodes, root.cell(key)))
}

// statistics returns the values released alongside one released key, by metric, and the parents of
// the drawn nodes with the precision of the draws.
func (c *Config) statistics(metric int, w window, key string, n stop, drawn []estimate,
	counts map[Cell]int64) (map[int]stop, map[Cell]units.Precision, error) {
	spec, alongside := c.Metrics[metric], map[int]stop{}
	for i, m := range c.Metrics {
		if kind, isAlongside := strings.CutPrefix(m.Kind, "also_"); isAlongside && m.Of == spec.Name && c.path == nil {
			s := n
			s.met = false // a value released alongside has no target
			m.Kind = kind
			alongside[i] = c.join(metric, m, s, drawn)
		}
	}
	if !hasTree(spec.Kind) {
		return alongside, nil, nil
	}
	compute := c.quantiles
	if spec.Kind == "histogram" {
		compute = c.shares
	}
	out, parents, err := compute(metric, w, key, n, counts)
	if err != nil {
		return nil, nil, fmt.Errorf("computing the statistics of metric %q: %w", spec.Name, err)
	}
	maps.Copy(out, alongside)
	nodes, stopped := c.nodesOf(metric), map[Cell]units.Precision{}
	for _, parent := range parents {
		stopped[Cell{nodes, parent.cell(key)}] = precisionOf(extraPrecision(spec, c.Metrics[nodes], n.precision))
	}
	return out, stopped, nil
}
