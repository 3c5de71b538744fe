package reference

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// node is the number of a node of a tree: 1 for the root, and n·8 + i for child i of node n. Bucket
// i of a histogram has the number 8 + i, so its parent need not be the root.
type node int64

const root node = 1

func (n node) child(i int) node { return 8*n + node(i) }

func (n node) parent() node { return n / 8 }

// level returns a node's distance from the root.
func (n node) level() (l int) {
	for ; n > root; n = n.parent() {
		l++
	}
	return l
}

func (n node) cell(key string) string {
	return string(schemas.NodeKey([]byte(key), metrickind.Node(n)))
}

// steps divide the values from min to max among the leaves of a tree, or into the buckets of a
// histogram.
type steps struct {
	min, max    int64
	logarithmic bool
	edges       []int64 // edges of a histogram; nil for a tree
}

// stepsOf returns the steps of a metric of quantiles or of a histogram.
func (c Config) stepsOf(metric int) steps {
	nodes := c.Metrics[c.nodesOf(metric)]
	return steps{
		min: c.Metrics[metric].Min, max: c.Metrics[metric].Max,
		logarithmic: nodes.Kind == "quantile_log_nodes", edges: edgesOf(nodes),
	}
}

// edgesOf returns the edges of a histogram, which are the public keys of the metric of its buckets:
// eight bytes each, offset by 2^63 so that the bytes have the same order as the edges.
func edgesOf(m schemas.MetricSpec) (edges []int64) {
	if m.Kind != "histogram_buckets" {
		return nil
	}
	for _, key := range m.PublicKeys {
		edges = append(edges, int64(binary.BigEndian.Uint64(key)-1<<63))
	}
	return edges
}

// stepOf returns the step of a value. Values share a logarithmic step if their distances from min
// have the same length and the same six leading bits.
func (s steps) stepOf(value int64) int64 {
	distance := value - s.min
	if !s.logarithmic || distance < 64 {
		return distance
	}
	e := int64(bits.Len64(uint64(distance))) - 1
	return 32*(e-5) + distance/(1<<(e-5))
}

// number returns the number of steps.
func (s steps) number() int64 { return s.stepOf(s.max) + 1 }

// levels returns the number of levels of a tree below its root: five, or fewer if fewer levels give
// each step its own leaf.
func (s steps) levels() int {
	levels := 1
	for leaves := int64(8); levels < 5 && leaves < s.number(); leaves *= 8 {
		levels++
	}
	return levels
}

// nodesWith returns the nodes below the root that contain a value: node ⌊step·8^l/steps⌋ of the 8^l
// nodes of level l, or the last bucket of a histogram that does not begin above the value.
func (s steps) nodesWith(value int64) (all []node) {
	if s.edges != nil {
		bucket := len(s.edges) - 2
		for bucket > 0 && value < s.edges[bucket] {
			bucket--
		}
		return []node{8 + node(bucket)}
	}
	nodes := int64(1)
	for range s.levels() {
		nodes *= 8
		all = append(all, node(nodes+s.stepOf(value)*nodes/s.number()))
	}
	return all
}

// valuesAt returns the least and the greatest value of a node. If the node contains no value,
// greatest is less than least.
func (s steps) valuesAt(n node) (least, greatest int64) {
	level := n.level()
	if level == 0 {
		return s.min, s.max
	}
	// from returns the least value in node n or in any node to its right.
	from := func(n node) int64 {
		i := sort.Search(int(s.max-s.min+1), func(i int) bool { return s.nodesWith(s.min + int64(i))[level-1] >= n })
		return s.min + int64(i)
	}
	return from(n), from(n+1) - 1
}

// parents returns the nodes whose children are the buckets of a histogram.
func (s steps) parents() (all []node) {
	for i := range s.edges[1:] {
		all = append(all, (8 + node(i)).parent())
	}
	return slices.Compact(all)
}
