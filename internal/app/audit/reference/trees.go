package reference

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas"
)

// hasTree reports whether values of a kind are counted by the nodes of trees, or in buckets.
func hasTree(kind string) bool { return kind == "quantiles" || kind == "histogram" }

// isNodes reports whether a metric has the nodes of another one's trees, or its buckets.
func isNodes(m schemas.MetricSpec) bool {
	return slices.Contains([]string{"quantile_nodes", "quantile_log_nodes", "histogram_buckets"}, m.Kind)
}

// isStatistic reports whether a metric is computed from what is drawn for another one.
func isStatistic(m schemas.MetricSpec) bool {
	return m.Kind == "quantile" || m.Kind == "bucket_share" || strings.HasPrefix(m.Kind, "also_")
}

// nodesOf returns the metric of the nodes of a metric's trees.
func (c *Config) nodesOf(metric int) int {
	return slices.IndexFunc(c.Metrics, func(m schemas.MetricSpec) bool {
		return isNodes(m) && m.Of == c.Metrics[metric].Name
	})
}

// squares adds up n² over the nodes whose parents are drawn, where n is how many of one
// individual's values of a key are in the node.
func squares(s steps, values []int64, drawn func(parent node) bool) *big.Int {
	counts := map[node]int64{}
	for _, v := range values {
		for _, at := range s.nodesWith(v) {
			counts[at]++
		}
	}
	sum := new(big.Int)
	for at, n := range counts {
		if drawn(at.parent()) {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(n), big.NewInt(n)))
		}
	}
	return sum
}

// ChargeTrees returns what one individual pays for the nodes of trees. values has the individual's
// values by key. Each key costs ⌈u·Σn²·2^-40⌉ over the nodes whose parents are drawn (see squares).
// drawn returns the precision with which the children of a cell's node were drawn, for the metric
// of nodes. It is nil or 0 if they were not drawn.
func (c *Config) ChargeTrees(metric int, values map[string][]int64,
	drawn func(nodes int, cell string) *big.Int) *big.Int {
	all := new(big.Int)
	if !hasTree(c.Metrics[metric].Kind) {
		return all
	}
	at, steps := c.nodesOf(metric), c.stepsOf(metric)
	for key, of := range values {
		u := drawn(at, root.cell(key))
		if u == nil {
			continue
		}
		sum := squares(steps, of, func(parent node) bool {
			of := drawn(at, parent.cell(key))
			return of != nil && of.Sign() != 0
		})
		all.Add(all, ceilDiv(sum.Mul(sum, u), new(big.Int).Lsh(big.NewInt(1), 40)))
	}
	return all
}

// statistics returns what is released beside one released key, by metric, and the parents of the
// drawn nodes with the precision of the draws.
func (c *Config) statistics(metric int, w window, key string, n stop, drawn []estimate,
	counts map[Cell]int64) (map[int]stop, map[Cell]*big.Int, error) {
	spec, beside := c.Metrics[metric], map[int]stop{}
	for i, m := range c.Metrics {
		if of, also := strings.CutPrefix(m.Kind, "also_"); also && m.Of == spec.Name && c.path == nil {
			s := n
			s.met = false // it has no target
			m.Kind = of
			beside[i] = c.join(metric, m, s, drawn)
		}
	}
	if !hasTree(spec.Kind) {
		return beside, nil, nil
	}
	of := c.quantiles
	if spec.Kind == "histogram" {
		of = c.shares
	}
	out, parents, err := of(metric, w, key, n, counts)
	if err != nil {
		return nil, nil, fmt.Errorf("computing the statistics of metric %q: %w", spec.Name, err)
	}
	maps.Copy(out, beside)
	stopped := map[Cell]*big.Int{}
	at := c.nodesOf(metric)
	for _, parent := range parents {
		stopped[Cell{at, parent.cell(key)}] = furtherPrecision(spec, c.Metrics[at], n.precision)
	}
	return out, stopped, nil
}
