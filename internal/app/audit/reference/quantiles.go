package reference

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
)

// tree is one key's tree during the search for its quantiles.
type tree struct {
	*Config
	steps
	nodes  int
	w      window
	key    string
	u      *big.Int
	width  *big.Rat
	number *big.Rat // the released number of events
	counts map[Cell]int64
	drawn  map[node][8]*big.Rat // by parent
}

// children returns the noisy counts of a node's children. It draws them at the first call.
func (t *tree) children(p node) (drawn [8]*big.Rat, err error) {
	if drawn, known := t.drawn[p]; known {
		return drawn, nil
	}
	for i := range drawn {
		cell := p.child(i).cell(t.key)
		component, err := t.drawOnce(t.nodes, t.w, cell, t.counts[Cell{t.nodes, cell}], t.u)
		if err != nil {
			return drawn, err
		}
		drawn[i] = component.value
	}
	t.drawn[p] = drawn
	return drawn, nil
}

// edge returns D = (1 − q)·L − q·R at the left edge of child i of a node, and the variance of D. L
// and R are the sums of the nodes to the left and to the right of the edge.
func (t *tree) edge(p node, i int, rank int64) (d, variance *big.Rat) {
	q := big.NewRat(rank, 1e6)
	rest := sub(rat(1), q)
	d, weight := rat(0), rat(0)
	count := func(y *big.Rat, left bool) {
		if left {
			d, weight = add(d, mul(rest, y)), add(weight, square(rest))
		} else {
			d, weight = sub(d, mul(q, y)), add(weight, square(q))
		}
	}
	for n := p; n != root; n = n.parent() {
		for j, y := range t.drawn[n.parent()] {
			if sibling := n.parent().child(j); sibling != n {
				count(y, sibling < n)
			}
		}
	}
	for j, y := range t.drawn[p] {
		count(y, j < i)
	}
	return d, mul(weight, estimate{precision: t.u}.variance())
}

// beyond reports whether D has the given sign and an interval that does not contain 0.
func (t *tree) beyond(p node, i int, rank int64, sign int) bool {
	d, variance := t.edge(p, i, rank)
	return d.Sign() == sign && square(d).Cmp(mul(square(t.width), variance)) > 0
}

// narrow draws nodes for the ends of an interval. While both ends lie in one child, it draws the
// children of that child. If they lie in two children that touch, it draws the children of each,
// and then follows each end as long as the end lies in the child that touches the other side.
func (t *tree) narrow(rank int64) error {
	for p := root; p.level() < t.levels(); {
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
			n, touching := p.child(low), 7
			if upper {
				n, touching = p.child(high), 0
			}
			for n.level() < t.levels() {
				if _, err := t.children(n); err != nil {
					return err
				}
				if t.step(n, rank, upper) != touching {
					break
				}
				n = n.child(touching)
			}
		}
		return nil
	}
	return nil
}

// step returns the child that contains an end of an interval.
func (t *tree) step(p node, rank int64, upper bool) int {
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

// end returns the lower or the upper end of a rank's interval.
func (t *tree) end(rank int64, upper bool) int64 {
	p := root
	for {
		if _, drawn := t.drawn[p]; !drawn {
			break
		}
		p = p.child(t.step(p, rank, upper))
	}
	least, greatest := t.valuesAt(p)
	if upper {
		return max(greatest, t.min)
	}
	return min(least, t.max)
}

// value returns the quantile of a rank, in units of 2^-10. It draws the nodes on the way.
func (t *tree) value(rank int64) (int64, error) {
	drawn, err := t.children(root)
	if err != nil {
		return 0, err
	}
	held := t.number // estimate of the number of events in p
	for _, y := range drawn {
		held = add(held, y)
	}
	held = quo(held, rat(2))
	if held.Sign() < 0 {
		held = rat(0)
	}
	below := mul(big.NewRat(rank, 1e6), held) // number of events of p below the quantile
	for p := root; ; {
		drawn, err := t.children(p)
		if err != nil {
			return 0, err
		}
		estimates, i := consistent(drawn, held), 0
		for below.Cmp(estimates[i]) > 0 {
			below = sub(below, estimates[i])
			i++
		}
		p, held = p.child(i), estimates[i]
		if p.level() == t.levels() {
			return t.inside(p, below, held), nil
		}
	}
}

// consistent returns the numbers max(0, draw − θ), which add up to n. Of all such nonnegative
// numbers, they are the nearest to the draws. consistent finds by trial how many of the greatest
// draws stay above θ.
func consistent(drawn [8]*big.Rat, n *big.Rat) (out [8]*big.Rat) {
	falling := slices.SortedFunc(slices.Values(drawn[:]), func(a, b *big.Rat) int { return b.Cmp(a) })
	sum, theta := rat(0), rat(0)
	for i, y := range falling {
		sum = add(sum, y)
		if least := quo(sub(sum, n), rat(int64(i+1))); i == 0 || y.Cmp(least) > 0 {
			theta = least
		}
	}
	for i, y := range drawn {
		if out[i] = sub(y, theta); out[i].Sign() < 0 {
			out[i] = rat(0)
		}
	}
	return out
}

// inside returns a value in a leaf. It assumes that the leaf holds held events, spread evenly over
// its values, and returns the value below which below of them lie.
func (t *tree) inside(leaf node, below, held *big.Rat) int64 {
	least, greatest := t.valuesAt(leaf)
	least, greatest = min(max(least, t.min), t.max), min(greatest, t.max)
	if greatest <= least {
		return 1024 * least
	}
	part := big.NewRat(1, 2)
	if held.Sign() > 0 {
		part = quo(below, held)
	}
	return 1024*least + nearest(scale(mul(part, rat(greatest-least)), 10))
}

// quantiles returns the quantiles of one released key, by metric, and the parents of the nodes that
// were drawn for them.
func (c *Config) quantiles(metric int, w window, key string, n stop,
	counts map[Cell]int64) (map[int]stop, []node, error) {
	nodes, spec := c.nodesOf(metric), c.Metrics[metric]
	t := tree{
		Config: c, steps: c.stepsOf(metric), nodes: nodes, w: w, key: key, u: extraPrecision(spec, c.Metrics[nodes],
			n.precision),
		number: big.NewRat(n.value, 1024), counts: counts, drawn: map[node][8]*big.Rat{},
	}
	t.width = c.ladders[metric].jointWidth(t.levels())
	var parents []node
	if c.path != nil { // nothing is published: as if all ranks led to the least values
		for p := root; p.level() < t.levels(); p = p.child(0) {
			parents = append(parents, p)
		}
		return nil, parents, nil
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
		for _, y := range t.drawn[root] {
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
			low, high = t.min, t.max
		}
		s.value = min(max(value, 1024*low), 1024*high)
		s.low, s.high = float64(low), float64(high)
		s.stddev = (s.high - s.low) / 3.92
		s.met = !clamped && t.end(m.Max, false) <= t.end(m.Max, true) && s.value == value && t.near(m, value)
		out[i] = s
	}
	return out, slices.Collect(maps.Keys(t.drawn)), nil
}

// near reports whether a value meets the target of quantile m: whether it certainly lies between
// the quantiles of the lowest and the highest rank that the target permits.
func (t *tree) near(m schemas.MetricSpec, value int64) bool {
	within := int64(m.Absolute * 1e6)
	if within == 0 {
		return false
	}
	least, greatest := t.min, t.max
	if m.Max-within > 0 {
		least = t.end(m.Max-within, true)
	}
	if m.Max+within < 1e6 {
		greatest = t.end(m.Max+within, false)
	}
	return 1024*least <= value && value <= 1024*greatest
}
