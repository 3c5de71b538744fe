package metrickind

import "math/bits"

// Tree names the kinds of statistics that are computed from noisy counts of the nodes of a tree of
// values.
type Tree struct {
	// Nodes are the kinds that the further component can have, which has a cell for each node; a
	// metric's scale chooses one. A node is drawn with NodesFiner times the precision at which the
	// ladder of the first component, the number of events, has stopped.
	Nodes []string
	// Statistic is the kind of the metrics that are released beside the number of events: shares of
	// the buckets of a histogram if Edges is set, else quantiles of ranks.
	Statistic string
	Edges     bool
	// Target is the absolute target that demo uses by default, and that errors suggest. Unit names
	// the unit of an absolute target.
	Target float64
	Unit   string
	// Aim returns the relative error that the number of events must have for the statistics to have
	// an error of at most absolute; 0 if there is no target.
	Aim func(s *Scale, ranks []int64, absolute, confidence float64) float64
}

// NodesFiner is the precision of a node as a multiple of the precision of the number of events. The
// number of events decides where the ladder stops and which private keys are released. It costs a
// user 1/8 of a level of the tree.
const NodesFiner = 8

// Node is a node of the tree of a metric's values: 1 is the root, and 8n to 8n+7 are the children
// of node n. The values are divided among the leaves in order, see Scale. A node has the values of
// the leaves below it.
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

// Leaf is a number of events with values in a leaf.
type Leaf interface {
	At() (leaf Node, events uint64)
}

// Squares adds up the squares of the numbers of events in the nodes of a tree below its root:
// of those whose parent is drawn, or without drawn of all. The leaves ascend.
func Squares[L Leaf](leaves []L, levels int, drawn func(parent Node) bool) (sum uint64) {
	for up := range levels {
		shift := up * BranchBits
		for i := 0; i < len(leaves); {
			leaf, n := leaves[i].At()
			node := leaf >> shift
			for i++; i < len(leaves); i++ {
				next, events := leaves[i].At()
				if next>>shift != node {
					break
				}
				n += events
			}
			if drawn == nil || drawn(node.Parent()) {
				sum += n * n
			}
		}
	}
	return sum
}
