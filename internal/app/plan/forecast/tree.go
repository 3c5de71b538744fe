package forecast

import (
	"cmp"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
)

// tree forecasts the cost of the trees of quantiles, which is added to that of the sums. With a
// tree, an amount has the sum of c_b² over all nodes b, where c_b is the number of a user's events
// in node b, and this sum over the drawn nodes.
type tree struct {
	scale     *metrickind.Scale
	ranks     []int64 // of quantiles
	histogram bool
	parents   map[uint32]nodes // by key: the nodes whose children are drawn
}

type nodes map[metrickind.Node]bool

type leafCount struct {
	leaf metrickind.Node
	n    uint64
}

// At implements metrickind.Leaf.
func (l leafCount) At() (leaf metrickind.Node, events uint64) { return l.leaf, l.n }

// newTree returns the tree of the first metric of a deployment; nil if its kind has no tree.
func newTree(d *deployment.Deployment) *tree {
	of := &d.Metrics[0].Spec
	if metrickind.Of(of.Kind).Tree == nil {
		return nil
	}
	t := &tree{scale: d.Metrics[0].Scale, histogram: metrickind.Of(of.Kind).Tree.Edges}
	for i := range d.Metrics {
		if s := &d.Metrics[i].Spec; s.Of == of.Name && metrickind.Of(s.Kind).Ranked {
			t.ranks = append(t.ranks, s.Max)
		}
	}
	return t
}

// Where an amount has the sums of squares.
const (
	allNodes   = metrickind.MaxComponents
	drawnNodes = metrickind.MaxComponents + 1
)

// price is what a user pays for a sum of squares of nodes if the number of events has precision u.
func (t *tree) price(squares float64, u units.Precision) (units.Mu2, bool) {
	return units.ChargeSquares(uint64(squares)*metrickind.NodesFiner, u)
}

// squares adds up the squares of a user's events over all nodes of a key's tree, and over those
// that are drawn.
func (t *tree) squares(of []leafCount, key uint32) (all, drawn float64) {
	slices.SortFunc(of, func(a, b leafCount) int { return cmp.Compare(a.leaf, b.leaf) })
	all = float64(metrickind.Squares(of, t.scale.Levels(), nil))
	if t.histogram { // all buckets are drawn
		return all, all
	}
	parents := t.parents[key]
	return all, float64(metrickind.Squares(of, t.scale.Levels(), func(n metrickind.Node) bool { return parents[n] }))
}

// measure returns, for each key, the nodes whose children are drawn: those that a rank leads to if
// there is no noise and the values of all windows are taken together.
func (t *tree) measure(values []sample.Cell) map[uint32]nodes {
	slices.SortFunc(values, func(a, b sample.Cell) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
	})
	all := map[uint32]nodes{}
	for len(values) > 0 {
		n, events := 0, 0.0
		for ; n < len(values) && values[n].Key == values[0].Key; n++ {
			events += float64(values[n].Events)
		}
		all[values[0].Key] = t.parentsOf(values[:n], events)
		values = values[n:]
	}
	return all
}

func (t *tree) parentsOf(ascending []sample.Cell, events float64) nodes {
	parents := nodes{}
	for _, rank := range t.ranks {
		sum := 0.0
		for _, c := range ascending {
			if sum += float64(c.Events); sum*metrickind.RankUnit < float64(rank)*events {
				continue
			}
			for node := t.leaf(c.Value).Parent(); node != 0; node = node.Parent() {
				parents[node] = true
			}
			break
		}
	}
	return parents
}

func (t *tree) leaf(value float32) metrickind.Node {
	return t.scale.Leaf(int64(value))
}
