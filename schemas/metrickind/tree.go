package metrickind

import "math/bits"

// Tree describes statistics that are computed from noisy counts of the nodes in a tree of values.
type Tree struct {
	// Nodes names the possible kinds of the further component that has a cell for each node; a
	// metric's scale determines the kind. The first component is the number of events. A node has
	// NodesFiner times the precision at which the first component's ladder stopped.
	Nodes     []string
	Statistic string  // kind of the metrics released alongside the number of events
	Edges     bool    // whether Statistic is a share of a histogram's buckets, and not a quantile
	Target    float64 // absolute target that the demo uses and that error messages suggest
	Unit      string  // phrase for the unit of an absolute target
	// Aim returns the relative error of the number of events at which the error of the statistics
	// is at most absolute.
	Aim func(s *Scale, ranks []int64, absolute, confidence float64) float64
}

// NodesFiner is the precision of a node as a multiple of the precision of the number of events. The
// number of events determines where the ladder stops and which private keys are released, and costs
// a user 1/8 as much as a level of the tree.
const NodesFiner = 8

// Node is the number of a node in the tree of a metric's values: 1 is the root, and 8n to 8n+7 are
// the children of node n. Scale divides the values among the leaves. A node contains the values of
// all leaves below it.
type Node uint32

const (
	BranchBits      = 3               // bits of a node number that select a child
	Branching       = 1 << BranchBits // number of children of a node
	maxLevels       = 5
	Root       Node = 1 // contains all values
)

// Parent returns the parent of a node, or 0 for the root.
func (n Node) Parent() Node { return n >> BranchBits }

// Child returns the i-th child of a node, from 0 to Branching−1.
func (n Node) Child(i int) Node { return n<<BranchBits | Node(i) }

// level returns the distance of a node from the root. For 2·8^level, the number after the last node
// of a level, it returns the same level.
func (n Node) level() int { return (bits.Len32(uint32(n)) - 1) / BranchBits }

// Leaf is an entry of a list of leaves. At returns the leaf and the number of its events.
type Leaf interface {
	At() (leaf Node, events uint64)
}

// Squares returns the sum of the squared numbers of events over the nodes for whose parents drawn
// returns true; a nil drawn means all nodes below the root. The leaves must be in ascending order.
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
