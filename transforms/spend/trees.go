package spend

import (
	"cmp"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
)

// leafCount is the number of a user's kept events in one leaf of a key's tree.
type leafCount struct {
	key  uint32 // see kept.key
	leaf metrickind.Node
	n    uint32
}

// At implements metrickind.Leaf.
func (l leafCount) At() (leaf metrickind.Node, events uint64) { return l.leaf, uint64(l.n) }

func compareLeaves(a, b leafCount) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.leaf, b.leaf))
}

// mergeLeaves sorts the elements of a list from index from, and adds up equal leaves.
func mergeLeaves(list []leafCount, from int) []leafCount {
	added := list[from:]
	slices.SortFunc(added, compareLeaves)
	merged := list[:from]
	for _, l := range added {
		if last := len(merged) - 1; last >= from && compareLeaves(merged[last], l) == 0 {
			merged[last].n += l.n
		} else {
			merged = append(merged, l)
		}
	}
	return merged
}

// firstTree splits a list after the leaves of its first key.
func firstTree(leaves []leafCount) (first, rest []leafCount) {
	n := 1
	for n < len(leaves) && leaves[n].key == leaves[0].key {
		n++
	}
	return leaves[:n], leaves[n:]
}

// drawnNodes lists the drawn nodes of a key's tree. A key that was not released has none.
type drawnNodes struct {
	precision units.Precision   // of each node
	parents   []metrickind.Node // nodes whose children were drawn, in ascending order
}

// drawnNodes returns the drawn nodes of the tree of each key. w is a window of the metric for
// nodes. keys must be in ascending order.
func (s *Settlement) drawnNodes(w schemas.MetricWindow, keys [][]byte) ([]drawnNodes, error) {
	out := make([]drawnNodes, len(keys))
	first, _ := slices.BinarySearchFunc(s.released, w, compareWindows)
	for _, k := range s.released[first:] {
		if compareWindows(k, w) != 0 {
			break
		}
		key, node, ok := schemas.SplitNodeKey(k.Key)
		if !ok {
			return nil, errNoPrice
		}
		index, found := slices.BinarySearchFunc(keys, key, slices.Compare[[]byte])
		if !found {
			continue // no user of this shard has the key
		}
		nodes := &out[index]
		if len(nodes.parents) > 0 && (nodes.precision != k.Precision || nodes.parents[len(nodes.parents)-1] >= node) {
			return nil, errNoPrice
		}
		nodes.precision, nodes.parents = k.Precision, append(nodes.parents, node)
	}
	return out, nil
}

// price returns a user's cost for the drawn nodes of a key's tree. It returns an error if a
// released key lacks the children of the root, or if a key that was not released has drawn nodes.
func (d *drawnNodes) price(leaves []leafCount, levels int, released bool) (units.Mu2, error) {
	if root := len(d.parents) > 0 && d.parents[0] == metrickind.Root; root != released {
		return 0, errNoPrice
	}
	if !released {
		return 0, nil
	}
	charge, _ := units.ChargeSquares(metrickind.Squares(leaves, levels, func(parent metrickind.Node) bool {
		_, drawn := slices.BinarySearch(d.parents, parent)
		return drawn
	}), d.precision)
	return charge, nil
}
