package reference

import (
	"fmt"
	"math/big"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// treeLevels returns how many levels a tree of values has below its root. Each node has eight
// children. There are five levels, or fewer if these give each value a leaf of its own.
func treeLevels(m schemas.MetricSpec) int {
	for levels, leaves := 1, int64(8); levels < 5; levels, leaves = levels+1, 8*leaves {
		if leaves > m.Max-m.Min {
			return levels
		}
	}
	return 5
}

// treePath is the way from the root to a node: the number of a child at each level.
type treePath []int

// id is the number of a node: 1 for the root, and n·8 + i for child i of node n.
func (p treePath) id() int64 {
	n := int64(1)
	for _, i := range p {
		n = 8*n + int64(i)
	}
	return n
}

func (p treePath) child(i int) treePath { return append(append(treePath{}, p...), i) }

func (p treePath) cell(key string) string {
	return string(schemas.NodeKey([]byte(key), metrickind.Node(p.id())))
}

// pathsTo returns the nodes below the root that a value is in, by level.
func pathsTo(m schemas.MetricSpec, value int64) (all []treePath) {
	of := treePath{}
	for range treeLevels(m) {
		for i := 7; i >= 0; i-- {
			if least, _ := valuesAt(m, of.child(i)); value >= least {
				of = of.child(i)
				break
			}
		}
		all = append(all, of)
	}
	return all
}

// valuesAt returns the least and the greatest value of a node: the i-th of 8^l nodes has the values
// v with i ≤ (v − min)·8^l/values < i + 1.
func valuesAt(m schemas.MetricSpec, p treePath) (least, greatest int64) {
	nodes := int64(1)
	for range p {
		nodes *= 8
	}
	from := func(i int64) int64 {
		return m.Min + ceilDiv(new(big.Int).Mul(big.NewInt(i), big.NewInt(m.Max-m.Min+1)), big.NewInt(nodes)).Int64()
	}
	i := p.id() - nodes
	return from(i), from(i+1) - 1
}

// nodesOf returns the metric of the nodes of a metric's trees.
func (c Config) nodesOf(metric int) (int, bool) {
	for i, m := range c.Metrics {
		if m.Kind == "quantile_nodes" && m.Of == c.Metrics[metric].Name {
			return i, true
		}
	}
	return 0, false
}

// squares adds up n² over the nodes whose parents are drawn, where n is how many of one
// individual's values of a key are in the node.
func squares(m schemas.MetricSpec, values []int64, drawn func(parent treePath) bool) *big.Int {
	counts := map[int64]int64{}
	parents := map[int64]treePath{}
	for _, v := range values {
		for _, p := range pathsTo(m, v) {
			counts[p.id()]++
			parents[p.id()] = p[:len(p)-1]
		}
	}
	sum := new(big.Int)
	for id, n := range counts {
		if drawn(parents[id]) {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(n), big.NewInt(n)))
		}
	}
	return sum
}

// ChargeTrees returns what one individual pays for the nodes of trees. values has the individual's
// values by key. Each key costs ⌈u·Σn²·2^-40⌉ over the nodes whose parents are drawn (see squares).
// drawn returns the precision with which the children of a cell's node were drawn, for the metric
// of nodes. It is nil or 0 if they were not drawn.
func (c Config) ChargeTrees(metric int, values map[string][]int64, drawn func(nodes int, cell string) *big.Int) *big.Int {
	all := new(big.Int)
	at, some := c.nodesOf(metric)
	if !some {
		return all
	}
	for key, of := range values {
		u := drawn(at, treePath{}.cell(key))
		if u == nil {
			continue
		}
		sum := squares(c.Metrics[metric], of, func(parent treePath) bool {
			of := drawn(at, parent.cell(key))
			return of != nil && of.Sign() != 0
		})
		all.Add(all, ceilDiv(sum.Mul(sum, u), new(big.Int).Lsh(big.NewInt(1), 40)))
	}
	return all
}

// tree is one key's tree during the search for its quantiles.
type tree struct {
	Config
	spec   schemas.MetricSpec // of the quantiles
	nodes  int
	w      window
	key    string
	u      *big.Int
	width  *big.Rat
	counts map[metricKey]int64
	drawn  map[int64][8]*big.Rat // by parent
	// positive says that edge takes counts below 0 for 0.
	positive bool
}

func (t *tree) children(p treePath) (of [8]*big.Rat, err error) {
	if of, known := t.drawn[p.id()]; known {
		return of, nil
	}
	for i := range of {
		cell := p.child(i).cell(t.key)
		one, err := t.drawOnce(t.nodes, t.w, cell, t.counts[metricKey{t.nodes, cell}], t.u)
		if err != nil {
			return of, err
		}
		of[i] = one.value
	}
	t.drawn[p.id()] = of
	return of, nil
}

// edge returns D = (1 − q)·L − q·R at the left edge of child i of a node, and the variance of D. L
// and R are the sums of the nodes to the left and to the right of the edge.
func (t *tree) edge(p treePath, i int, rank int64) (d, variance *big.Rat) {
	q := big.NewRat(rank, 1e6)
	rest := new(big.Rat).Sub(big.NewRat(1, 1), q)
	d, weight := new(big.Rat), new(big.Rat)
	add := func(y *big.Rat, left bool) {
		if t.positive && y.Sign() < 0 {
			return
		}
		if left {
			d.Add(d, new(big.Rat).Mul(rest, y))
			weight.Add(weight, new(big.Rat).Mul(rest, rest))
			return
		}
		d.Sub(d, new(big.Rat).Mul(q, y))
		weight.Add(weight, new(big.Rat).Mul(q, q))
	}
	for level := range p {
		for j, y := range t.drawn[p[:level].id()] {
			if j != p[level] {
				add(y, j < p[level])
			}
		}
	}
	for j, y := range t.drawn[p.id()] {
		add(y, j < i)
	}
	return d, weight.Mul(weight, estimate{precision: t.u}.variance())
}

// beyond reports whether D has the given sign and is farther from 0 than an interval reaches.
func (t *tree) beyond(p treePath, i int, rank int64, sign int) bool {
	d, variance := t.edge(p, i, rank)
	most := new(big.Rat).Mul(new(big.Rat).Mul(t.width, t.width), variance)
	return d.Sign() == sign && new(big.Rat).Mul(d, d).Cmp(most) > 0
}

// narrow draws nodes for the ends of an interval. While both ends lie in one child, it draws the
// children of that child. If they lie in two children that touch, it draws the children of each,
// and then follows each end as long as the end lies in the child that touches the other side.
func (t *tree) narrow(rank int64) error {
	for p := (treePath{}); len(p) < treeLevels(t.spec); {
		if _, err := t.children(p); err != nil {
			return err
		}
		low, high := t.step(p, rank, false), t.step(p, rank, true)
		if low == high {
			p = p.child(low)
			continue
		}
		if low+1 != high {
			return nil
		}
		for _, upper := range []bool{false, true} {
			at, touching := p.child(low), 7
			if upper {
				at, touching = p.child(high), 0
			}
			for len(at) < treeLevels(t.spec) {
				if _, err := t.children(at); err != nil {
					return err
				}
				if t.step(at, rank, upper) != touching {
					break
				}
				at = at.child(touching)
			}
		}
		return nil
	}
	return nil
}

// step returns the child in which an end of an interval lies.
func (t *tree) step(p treePath, rank int64, upper bool) int {
	i := 0
	if upper {
		for i = 7; i > 0 && t.beyond(p, i, rank, 1); i-- {
		}
		return i
	}
	for ; i < 7 && t.beyond(p, i+1, rank, -1); i++ {
	}
	return i
}

// end returns a lower end of the interval of a rank, or an upper one.
func (t *tree) end(rank int64, upper bool) int64 {
	p := treePath{}
	for {
		if _, drawn := t.drawn[p.id()]; !drawn {
			break
		}
		p = p.child(t.step(p, rank, upper))
	}
	least, greatest := valuesAt(t.spec, p)
	if upper {
		return max(greatest, t.spec.Min)
	}
	return min(least, t.spec.Max)
}

// value returns the quantile of a rank, in units of 2^-10, and draws the nodes that this takes.
func (t *tree) value(rank int64) (int64, error) {
	t.positive = true
	defer func() { t.positive = false }()
	p := treePath{}
	for {
		if _, err := t.children(p); err != nil {
			return 0, err
		}
		below := 0
		for i := 1; i < 8; i++ {
			if d, _ := t.edge(p, i, rank); d.Sign() < 0 {
				below++
			}
		}
		if len(p)+1 == treeLevels(t.spec) {
			return t.inside(p, below, rank), nil
		}
		p = p.child(below)
	}
}

// inside returns the value in a leaf at which D is 0 if the events of the leaf are spread evenly
// over its values.
func (t *tree) inside(p treePath, leaf int, rank int64) int64 {
	least, greatest := valuesAt(t.spec, p.child(leaf))
	least, greatest = min(max(least, t.spec.Min), t.spec.Max), min(greatest, t.spec.Max)
	if greatest <= least {
		return 1024 * least
	}
	left, _ := t.edge(p, leaf, rank)
	right, _ := t.edge(p, leaf+1, rank)
	part := big.NewRat(1, 2)
	if left.Sign() < 0 && right.Sign() > 0 {
		part.Quo(new(big.Rat).Neg(left), new(big.Rat).Sub(right, left))
	}
	at := new(big.Rat).Mul(part, big.NewRat(greatest-least, 1))
	return 1024*least + below(new(big.Rat).Add(scale(at, 10), big.NewRat(1, 2)))
}

// quantiles returns the quantiles of one released key, by metric, and the parents of the drawn
// nodes with the precision of the draws.
func (c Config) quantiles(metric int, w window, key string, n stop, counts map[metricKey]int64) (map[int]stop, map[metricKey]*big.Int, error) {
	at, some := c.nodesOf(metric)
	if !some {
		return nil, nil, nil
	}
	spec := c.Metrics[metric]
	t := tree{
		Config: c, spec: spec, nodes: at, w: w, key: key, u: furtherPrecision(spec, c.Metrics[at], n.precision),
		width: c.ladders[metric].together(treeLevels(spec)), counts: counts, drawn: map[int64][8]*big.Rat{},
	}
	stopped := map[metricKey]*big.Int{}
	if c.path != nil { // nothing is published: as if all ranks led to the least values
		p := treePath{}
		for range treeLevels(spec) {
			stopped[metricKey{at, p.cell(key)}] = t.u
			p = p.child(0)
		}
		return nil, stopped, nil
	}
	out := map[int]stop{}
	for i, m := range c.Metrics {
		if m.Kind != "quantile" || m.Of != spec.Name {
			continue
		}
		value, err := t.value(m.Max)
		if err != nil {
			return nil, nil, fmt.Errorf("finding a quantile of metric %q: %w", spec.Name, err)
		}
		clamped := false
		for _, y := range t.drawn[1] {
			clamped = clamped || estimate{y, t.u}.clamped(t.width)
		}
		if !clamped {
			if err := t.narrow(m.Max); err != nil {
				return nil, nil, fmt.Errorf("finding an interval of metric %q: %w", spec.Name, err)
			}
		}
		s := n
		low, high := t.end(m.Max, false), t.end(m.Max, true)
		if clamped || low > high {
			low, high = spec.Min, spec.Max
		}
		s.value = min(max(value, 1024*low), 1024*high)
		s.low, s.high = float64(low), float64(high)
		s.stddev = (s.high - s.low) / 3.92
		s.met = !clamped && t.end(m.Max, false) <= t.end(m.Max, true) && s.value == value && t.near(m, value)
		out[i] = s
	}
	for parent := range t.drawn {
		stopped[metricKey{at, string(schemas.NodeKey([]byte(key), metrickind.Node(parent)))}] = t.u
	}
	return out, stopped, nil
}

// near reports whether a value certainly lies between the quantiles of the lowest and the highest
// rank that the target allows.
func (t *tree) near(m schemas.MetricSpec, value int64) bool {
	within := int64(m.Absolute * 1e6)
	if within == 0 {
		return false
	}
	least, greatest := t.spec.Min, t.spec.Max
	if m.Max-within > 0 {
		least = t.end(m.Max-within, true)
	}
	if m.Max+within < 1e6 {
		greatest = t.end(m.Max+within, false)
	}
	return 1024*least <= value && value <= 1024*greatest
}
