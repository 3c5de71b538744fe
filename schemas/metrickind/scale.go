package metrickind

import (
	"errors"
	"math/bits"
	"slices"
)

// Scale divides a range of values among the leaves of a tree. It maps each value to a step, which
// is a number from 0 upward; a greater value never has a smaller step. The steps are distributed
// over the leaves in order, as evenly as possible. A Scale is safe for concurrent use.
type Scale struct {
	min, max int64
	steps    uint64  // number of steps
	exact    int     // a distance below 2^(exact+1) is a step of its own: see step
	edges    []int64 // edges of a histogram
	levels   int
}

// Linear returns a scale for quantiles with one step per value. It fails if b.Min is above b.Max.
func Linear(b Bounds) (*Scale, error) { return scaleOf(b, 64) }

// Logarithmic returns a scale for quantiles whose steps grow with the distance d of a value from
// b.Min. Every d up to 63 has its own step. Above that, a step contains 1/32 of the values between
// two powers of two, so its width is at most d/32. Logarithmic fails if b.Min is above b.Max.
func Logarithmic(b Bounds) (*Scale, error) { return scaleOf(b, 5) }

func scaleOf(b Bounds, exact int) (*Scale, error) {
	if b.Min > b.Max {
		return nil, errors.New("min is greater than max")
	}
	s := &Scale{min: b.Min, max: b.Max, exact: exact, levels: 1}
	s.steps = s.step(b.Max) + 1
	for s.levels < maxLevels && uint64(1)<<(BranchBits*s.levels) < s.steps {
		s.levels++
	}
	return s, nil
}

// MostBuckets is the maximum number of buckets in a histogram.
const MostBuckets = 50

// Buckets returns the scale of a histogram. Bucket i contains the values from edges[i] to below
// edges[i+1]; the last bucket also contains the last edge. Bucket i is leaf 8+i, which is a child
// of node 1 + ⌊i/8⌋. Buckets fails unless there are 3 to 51 strictly ascending edges. The caller
// must not change edges afterwards.
func Buckets(edges []int64) (*Scale, error) {
	if n := len(edges) - 1; n < 2 || n > MostBuckets {
		return nil, errors.New("a histogram has from 2 to 50 buckets")
	}
	for i := 1; i < len(edges); i++ {
		if edges[i-1] >= edges[i] {
			return nil, errors.New("the edges of a histogram must be in ascending order")
		}
	}
	return &Scale{min: edges[0], max: edges[len(edges)-1], edges: edges, levels: 1}, nil
}

// Levels returns the number of levels below the root of the tree. For quantiles, there are enough
// levels to give every step a leaf, but at most five, which have 32,768 leaves.
func (s *Scale) Levels() int { return s.levels }

// buckets returns the number of buckets of a histogram, or 0 for quantiles.
func (s *Scale) buckets() int { return max(len(s.edges)-1, 0) }

// Leaf returns the leaf that contains v after v is clamped to the range. For quantiles, that is
// leaf number ⌊step·leaves/steps⌋, counted from 0.
func (s *Scale) Leaf(v int64) Node {
	v = min(max(v, s.min), s.max)
	if n := s.buckets(); n > 0 {
		return Root.Child(0) + Node(s.Bucket(v))
	}
	depth := BranchBits * s.levels
	high, low := bits.Mul64(s.step(v), 1<<depth)
	number, _ := bits.Div64(high, low, s.steps)
	return 1<<depth | Node(number)
}

// Bucket returns the index of the histogram's bucket that contains v, which must be in the range.
func (s *Scale) Bucket(v int64) int {
	bucket, exact := slices.BinarySearch(s.edges, v)
	if !exact {
		bucket--
	}
	return min(bucket, s.buckets()-1)
}

// bucketsBelow returns the number of buckets below an edge.
func (s *Scale) bucketsBelow(edge int64) int {
	index, _ := slices.BinarySearch(s.edges, edge)
	return index
}

// Leaves returns the range of leaves below a node, from first up to but not including end.
func (s *Scale) Leaves(n Node) (first, end Node) {
	below := BranchBits * (s.levels - n.level())
	return n << below, (n + 1) << below
}

// Values returns the least and the greatest value in a node of a tree for quantiles. least is above
// greatest if the node contains no values, which is possible if there are fewer steps than leaves.
func (s *Scale) Values(n Node) (least, greatest int64) { return s.edge(n), s.edge(n+1) - 1 }

// edge returns the least value in node n or, if n is empty, in the nodes after n on the same level.
// For the i-th node of a level, it is the least value of step ⌈i·steps/8^level⌉. n may also be the
// number after the last node of a level.
func (s *Scale) edge(n Node) int64 {
	depth := BranchBits * n.level()
	high, low := bits.Mul64(uint64(n)-1<<depth, s.steps)
	low, carry := bits.Add64(low, 1<<depth-1, 0)
	step := (high+carry)<<(64-depth) | low>>depth
	if step >= s.steps {
		return s.max + 1
	}
	return s.value(step)
}

// step returns the step of a value within the range. Let d = v − min, and let e be the greatest
// integer with 2^e ≤ d. The step is d if e ≤ s.exact, else (e − s.exact)·2^s.exact + ⌊d / 2^(e −
// s.exact)⌋.
func (s *Scale) step(v int64) uint64 {
	d := uint64(v - s.min)
	octave := bits.Len64(d) - 1 - s.exact
	if octave <= 0 {
		return d
	}
	return uint64(octave)<<s.exact + d>>octave
}

// value returns the least value of a step.
func (s *Scale) value(step uint64) int64 {
	octave := int(step>>s.exact) - 1
	if octave <= 0 {
		return s.min + int64(step)
	}
	return s.min + int64((step-uint64(octave)<<s.exact)<<octave)
}
