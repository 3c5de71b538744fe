package reference

import (
	"math/big"

	"github.com/tollgate-dp/tollgate/schemas"
)

// buckets are the drawn buckets of one key's histogram.
type buckets struct {
	steps
	drawn    []*big.Rat
	variance *big.Rat // variance of each bucket
	width    *big.Rat // half-width of an interval, in standard deviations
	clamped  bool     // some bucket may be clamped
}

// shares returns the bucket shares of one released key, by metric, and the parents of its buckets.
func (c *Config) shares(metric int, w window, key string, n stop,
	counts map[Cell]int64) (map[int]stop, []node, error) {
	nodes, steps := c.nodesOf(metric), c.stepsOf(metric)
	if c.path != nil { // nothing is published
		return nil, steps.parents(), nil
	}
	u := extraPrecision(c.Metrics[metric], c.Metrics[nodes], n.precision)
	b := buckets{steps: steps, variance: estimate{precision: u}.variance(), width: c.ladders[metric].width}
	for i := range steps.edges[1:] {
		cell := (8 + node(i)).cell(key)
		drawn, err := c.drawOnce(nodes, w, cell, counts[Cell{nodes, cell}], u)
		if err != nil {
			return nil, nil, err
		}
		b.drawn = append(b.drawn, drawn.value)
		b.clamped = b.clamped || drawn.clamped(b.width)
	}
	out := map[int]stop{}
	for i, m := range c.Metrics {
		if m.Kind == "bucket_share" && m.Of == c.Metrics[metric].Name {
			out[i] = b.share(m, n)
		}
	}
	return out, steps.parents(), nil
}

// share returns the share of the buckets between two edges, in units of 2^-10 percent. It finds the
// interval by trial, like average.
func (b buckets) share(m schemas.MetricSpec, n stop) stop {
	const all = 100 * 1024
	inRange, total, within := rat(0), rat(0), int64(0)
	for i, y := range b.drawn {
		total = add(total, y)
		if m.Min <= b.edges[i] && b.edges[i+1] <= m.Max {
			inRange = add(inRange, y)
			within++
		}
	}
	without := int64(len(b.drawn)) - within
	// The squared half-width of one bucket's interval.
	q := mul(square(b.width), b.variance)
	inside := func(point int64) bool { // with A = inRange, R = total − A: ((1 − s)·A − s·R)² ≤ q·((1 − s)²·n + s²·m)
		s := big.NewRat(point, all)
		rest := sub(rat(1), s)
		d := sub(mul(rest, inRange), mul(s, sub(total, inRange)))
		return square(d).Cmp(mul(q, add(mul(square(rest), rat(within)), mul(square(s), rat(without))))) <= 0
	}
	n.value = 0
	low, high := int64(0), int64(all)
	if total.Sign() > 0 {
		ratio := mul(quo(inRange, total), rat(all))
		n.value = min(max(nearest(ratio), 0), all)
		impossible := ratio.Sign() < 0 && !inside(0) || ratio.Cmp(rat(all)) > 0 && !inside(all)
		if square(total).Cmp(mul(q, rat(int64(len(b.drawn))))) > 0 && !b.clamped && !impossible {
			// The ratio lies between the roots. Outwards from there, the inequality holds up to
			// some point and fails beyond.
			from := floor(ratio).Int64()
			low, high = max(end(from, -1, inside), 0), min(end(from+1, 1, inside), all)
		}
	}
	n.low, n.high = float64(low)/1024, float64(high)/1024
	n.stddev = (n.high - n.low) / 3.92
	value := float64(n.value) / 1024
	n.met = m.Absolute > 0 && n.high-value <= m.Absolute && value-n.low <= m.Absolute
	return n
}
