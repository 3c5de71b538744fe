package metrickind

import "math/bits"

// Tree names the kinds by which quantiles are computed from noisy counts of the nodes of a tree of
// values.
type Tree struct {
	// Nodes is the kind of the further component, which has a cell for each node. A node is drawn
	// with NodesFiner times the precision at which the ladder of the first component, the number of
	// events, has stopped.
	Nodes string
	// Statistic is the kind of the metrics that are released beside the number of events.
	Statistic string
}

// NodesFiner is the precision of a node as a multiple of the precision of the number of events. The
// number of events decides where the ladder stops and which private keys are released. It costs a
// user 1/8 of a level of the tree.
const NodesFiner = 8

// RankUnit is the rank 1: ranks are whole numbers of millionths.
const RankUnit = 1_000_000

// Node is a node of the tree of a metric's values: 1 is the root, and 8n to 8n+7 are the children
// of node n. The values from Bounds.Min to Bounds.Max are divided among the leaves in order, as
// evenly as whole numbers allow. A node has the values of the leaves below it.
type Node uint32

const (
	// BranchBits is how many bits of a node number choose a child.
	BranchBits = 3
	// Branching is how many children a node has.
	Branching  = 1 << BranchBits
	mostLevels = 5

	// Root is the node with all values.
	Root Node = 1
)

// Parent returns the node above a node; 0 for the root.
func (n Node) Parent() Node { return n >> BranchBits }

// Child returns the i-th child of a node, from 0 to Branching−1.
func (n Node) Child(i int) Node { return n<<BranchBits | Node(i) }

// level is how far below the root a node is. The number after the last node of a level, 2·8^level,
// belongs to that level, too.
func (n Node) level() int { return (bits.Len32(uint32(n)) - 1) / BranchBits }

// Levels returns how many levels the tree has below its root: as many as it takes to give every
// value a leaf of its own, but at most five, which have 32,768 leaves.
func (b Bounds) Levels() int {
	levels := 1
	for levels < mostLevels && uint64(1)<<(BranchBits*levels) < b.values() {
		levels++
	}
	return levels
}

// values returns how many values there are from Min to Max.
func (b Bounds) values() uint64 { return uint64(b.Max-b.Min) + 1 }

// Leaf returns the leaf of a clamped value v: it has number ⌊(v − Min)·leaves/values⌋, from 0.
func (b Bounds) Leaf(v int64) Node {
	depth := BranchBits * b.Levels()
	high, low := bits.Mul64(uint64(v-b.Min), 1<<depth)
	number, _ := bits.Div64(high, low, b.values())
	return 1<<depth | Node(number)
}

// Leaves returns the leaves from first up to, but not including, end that are below a node.
func (b Bounds) Leaves(n Node) (first, end Node) {
	below := BranchBits * (b.Levels() - n.level())
	return n << below, (n + 1) << below
}

// Values returns the least and the greatest value of a node. If there are fewer values than leaves,
// a leaf may have no value: then least is above greatest.
func (b Bounds) Values(n Node) (least, greatest int64) { return b.edge(n), b.edge(n+1) - 1 }

// edge returns the least value that is in a node or after it: Min + ⌈i·values/8^level⌉ for node
// number i of a level. n may be the node after the last one of its level.
func (b Bounds) edge(n Node) int64 {
	depth := BranchBits * n.level()
	high, low := bits.Mul64(uint64(n)-1<<depth, b.values())
	low, carry := bits.Add64(low, 1<<depth-1, 0)
	return b.Min + int64((high+carry)<<(64-depth)|low>>depth)
}
