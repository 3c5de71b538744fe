package release

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// tree describes how statistics are computed for a metric. It lists the derived metrics that need
// the metric's trees or components.
type tree struct {
	nodes      int               // index of the metric for the nodes; −1: the counts have no trees
	scale      *metrickind.Scale // scale of the trees
	statistics []int             // indexes of the metrics that are computed from the components or the tree
	width      *big.Rat          // width with which the intervals of all levels hold: see metrickind.Search.Square
}

func newTree(metrics []schemas.MetricSpec, i int, plan *noisereduction.Plan) (t tree, err error) {
	t.nodes = -1
	for j := range metrics {
		if metrics[j].Of != metrics[i].Name {
			continue
		}
		switch kind := metrickind.Of(metrics[j].Kind); {
		case kind.HasNodes():
			t.nodes = j
			if t.scale, err = metrics[j].Scale(); err != nil {
				return t, err
			}
		case kind.Statistic != nil:
			t.statistics = append(t.statistics, j)
		}
	}
	if t.nodes >= 0 {
		t.width = plan.Width(t.scale.Levels())
	}
	return t, nil
}

// statistic is a quantile, a mean or another value that is released with a count.
type statistic struct {
	metric int
	value  metrickind.Estimate
	met    bool
}

func (l *ladders) computeAllStatistics(passed []task, counts []cellCount) ([]schemas.SettledKey, error) {
	return settleEach(passed, func(metric uint32) bool {
		return l.trees[metric].nodes >= 0 || len(l.trees[metric].statistics) > 0
	}, func(t *task) ([]schemas.SettledKey, error) { return l.computeStatistics(t, counts) })
}

// computeStatistics computes the statistics of a released count, and draws the nodes of its tree
// that they need. It returns the parents of the drawn nodes, with the precision of the nodes.
func (l *ladders) computeStatistics(t *task, counts []cellCount) (settled []schemas.SettledKey, err error) {
	r, tree := &t.result, &l.trees[t.Metric]
	known := metrickind.Known{
		Events:     metrickind.Estimate{Value: r.Value, StdDev: r.StdDev, Low: r.Low, High: r.High},
		Components: func(extra, ratios int) metrickind.Components { return l.components(t, extra, ratios) },
	}
	cell := t.cellID
	cell.Metric = uint32(max(tree.nodes, 0))
	var u units.Precision // precision of the nodes
	if tree.nodes >= 0 {
		if known.Tree, u, err = l.search(t, cell, counts); err != nil {
			return nil, err
		}
	}
	for _, m := range tree.statistics {
		spec := &l.metrics[m]
		value, met, err := metrickind.Of(spec.Kind).Statistic.Compute(known, spec.Bounds(), spec.Absolute)
		if err != nil {
			return nil, err
		}
		t.statistics = append(t.statistics, statistic{m, value, met})
	}
	if known.Tree == nil {
		return nil, nil
	}
	for _, parent := range known.Tree.Drawn() {
		cell.Key = string(schemas.NodeKey([]byte(t.Key), parent))
		settled = append(settled, settledKey(cell, u))
	}
	return settled, nil
}

// search starts the search in the tree of a count. It returns the search and the precision of the
// nodes. Only noisy numbers decide which nodes are drawn: the final precision of the count, and
// earlier nodes (docs/guarantee.md, "Quantiles").
func (l *ladders) search(t *task, cell cellID, counts []cellCount) (*metrickind.Search, units.Precision, error) {
	tree := &l.trees[t.Metric]
	u, err := ExtraPrecision(&l.metrics[t.Metric], &l.metrics[tree.nodes], t.result.Precision)
	if err != nil {
		return nil, u, err
	}
	leaves, err := leavesOf(counts, cell)
	if err != nil {
		return nil, u, err
	}
	n := nodes{ladders: l, cell: cell, precision: u, scale: tree.scale, leaves: leaves}
	search := &metrickind.Search{Scale: n.scale, Draw: n.children}
	return search, u, n.begin(search, tree.width, t.result.Value)
}

// leaf is a leaf of a tree with its exact count.
type leaf struct {
	node  metrickind.Node
	count int64
}

// leavesOf returns the leaves of a key's tree that contain events, in ascending order.
func leavesOf(counts []cellCount, cell cellID) (leaves []leaf, err error) {
	key := cell.Key
	cell.Key = string(schemas.NodeKey([]byte(key), 0))
	first, _ := slices.BinarySearchFunc(counts, cell, cellCount.Compare)
	for _, c := range counts[first:] {
		leafKey, node, ok := schemas.SplitNodeKey([]byte(c.Key))
		if c.Metric != cell.Metric || c.Start != cell.Start || c.End != cell.End || ok && string(leafKey) != key {
			break
		}
		if !ok {
			return nil, fmt.Errorf("a partial count of metric %d has a key that does not identify a node", cell.Metric)
		}
		leaves = append(leaves, leaf{node, c.Sum})
	}
	return leaves, nil
}

// nodes draws the nodes of the tree of one key.
type nodes struct {
	ladders   *ladders
	cell      cellID // cell of the metric for nodes, with the key of the count
	precision units.Precision
	scale     *metrickind.Scale
	leaves    []leaf
	exponent  uint // drawn counts have units of 2^-exponent
	sampler   noisereduction.Sampler
}

// begin draws the first nodes, which every search needs, and sets the fields of the search that
// depend on them: the unit of all counts, and whether counts may have been clamped. events is the
// released number of all events, in units of 2^-10.
func (n *nodes) begin(s *metrickind.Search, width *big.Rat, events int64) error {
	first, err := s.Begin()
	if err != nil {
		return err
	}
	unit := new(big.Int).Lsh(big.NewInt(1), n.exponent)
	for _, y := range first {
		component := metrickind.Component{Value: new(big.Rat).SetFrac(y, unit), Variance: variance(n.precision)}
		s.Beyond = s.Beyond || maybeClamped(component, width)
	}
	s.Events = new(big.Rat).SetFrac(new(big.Int).Mul(unit, big.NewInt(events)), big.NewInt(1<<10))
	square := new(big.Rat).Mul(width, width)
	square.Mul(square, variance(n.precision))
	s.Square = square.Mul(square, new(big.Rat).SetInt(unit.Mul(unit, unit)))
	return nil
}

func (n *nodes) children(parent metrickind.Node) (children [metrickind.Branching]*big.Int, err error) {
	for i := range children {
		if children[i], err = n.draw(parent.Child(i)); err != nil {
			return children, err
		}
	}
	return children, nil
}

// draw draws one node. All nodes have the same precision, and therefore the same exponent.
func (n *nodes) draw(node metrickind.Node) (y *big.Int, err error) {
	id := n.ladders.identity(n.cell)
	id.Key = schemas.NodeKey([]byte(n.cell.Key), node)
	y, n.exponent, err = n.sampler.Draw(n.ladders.noise, id, 1, units.Precision{}, n.precision, n.count(node))
	return y, err
}

// count returns the count of a node, clamped to the range that can be released.
func (n *nodes) count(node metrickind.Node) int64 {
	first, end := n.scale.Leaves(node)
	i, _ := slices.BinarySearchFunc(n.leaves, first, func(l leaf, first metrickind.Node) int {
		return int(l.node) - int(first)
	})
	var sum int128.Int
	for ; i < len(n.leaves) && n.leaves[i].node < end; i++ {
		sum = sum.Add(n.leaves[i].count)
	}
	return releasable(sum)
}
