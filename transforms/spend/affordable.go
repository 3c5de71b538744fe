package spend

import (
	"bytes"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
)

// This file decides which of a user's events the budget pays for. admit counts the others as
// Beyond.

// affordable returns, for each of the user's keys, the amount that the allowance pays for.
func (c *clipper) affordable(allowance units.Mu2) []uint64 {
	if c.m.prefixes() {
		c.upper = true
		_, fits := costOf(c.sizes, math.MaxUint64, allowance, c)
		if c.upper = false; fits {
			return c.sizes
		}
		for i := range c.userKeys {
			c.rankRecords(&c.userKeys[i])
		}
	}
	return c.water.fill(c.sizes, allowance, c)
}

// price implements pricer. If the metric counts a key's first events by rank, it is the price of
// the first n of them. So that it does not fall as n grows, each sum is the maximum over the first
// 1, 2, … n events.
func (c *clipper) price(i int, n uint64) (units.Mu2, bool) {
	m := c.m
	if !m.prefixes() {
		return units.Charge(n, m.spec.Top)
	}
	_, peaks := c.addUp(&c.userKeys[i], n)
	sum, ok := units.Charge(peaks[0], m.spec.Top)
	for j, component := range m.extra {
		charge, fits := units.Charge(peaks[j+1], c.rules.metrics[component].spec.Top)
		sum, ok = addCharge(sum, charge, fits && ok)
	}
	if m.nodes >= 0 && ok {
		var charge units.Mu2
		charge, ok = c.priceOfTree(&c.userKeys[i], n)
		sum, ok = addCharge(sum, charge, ok)
	}
	return sum, ok
}

func addCharge(sum, charge units.Mu2, fits bool) (units.Mu2, bool) {
	sum, ok := sum.Add(charge)
	return sum, ok && fits
}

// priceOfTree returns the price of all nodes of the tree of a key's first n events.
func (c *clipper) priceOfTree(k *userKey, n uint64) (units.Mu2, bool) {
	levels, top := c.m.scale.Levels(), c.rules.metrics[c.m.nodes].spec.Top
	if c.upper {
		return units.ChargeSquares(uint64(levels)*n*n, top)
	}
	from := len(c.leaves)
	c.addLeaves(k, n)
	squares := metrickind.Squares(c.leaves[from:], levels, nil)
	c.leaves = c.leaves[:from]
	return units.ChargeSquares(squares, top)
}

// pricer returns the prices of a user's keys in a window. The keys are numbered from 0.
type pricer interface {
	// price returns the cost of counting the amount c ≥ 1 of a key; ok is false if no account can
	// pay it. The cost does not fall as c grows.
	price(key int, c uint64) (cost units.Mu2, ok bool)
	// rank returns a key's rank among the user's keys.
	rank(key int) [16]byte
}

// water divides an allowance among a user's keys by filling them to the same level.
type water struct {
	counts []uint64
	more   []oneMore
}

// oneMore is a key of which one more event could be counted, and the additional cost.
type oneMore struct {
	key  int
	cost units.Mu2
	rank [16]byte
}

// fill returns the counted amount of each key. Keys are filled like vessels of the given sizes, up
// to the greatest common level that the allowance pays for. Then, in the order of ranks, one more
// is counted of each key that is not full, if the rest of the allowance pays for it. The result is
// valid until the next call.
//
// If c events of any key cost c²·u, no other choice within the allowance counts more events: moving
// an event to a key with a higher level costs more.
func (w *water) fill(sizes []uint64, allowance units.Mu2, prices pricer) []uint64 {
	if _, fits := costOf(sizes, math.MaxUint64, allowance, prices); fits {
		return sizes
	}
	// low fits, and high does not.
	low, high := uint64(0), slices.Max(sizes)
	for step := uint64(1); step < high; step *= 2 {
		if _, fits := costOf(sizes, step, allowance, prices); !fits {
			high = step
			break
		}
		low = step
	}
	for high-low > 1 {
		level := low + (high-low)/2
		if _, fits := costOf(sizes, level, allowance, prices); fits {
			low = level
		} else {
			high = level
		}
	}
	cost, _ := costOf(sizes, low, allowance, prices)
	w.counts = w.counts[:0]
	for _, size := range sizes {
		w.counts = append(w.counts, min(size, low))
	}
	w.addOneMore(sizes, low, allowance-cost, prices)
	return w.counts
}

// addOneMore counts one more of each key above the level, if the rest of the allowance pays for it.
func (w *water) addOneMore(sizes []uint64, level uint64, rest units.Mu2, prices pricer) {
	w.more = w.more[:0]
	for key, size := range sizes {
		if size <= level {
			continue
		}
		cost, ok := prices.price(key, level+1)
		if level > 0 {
			before, _ := prices.price(key, level)
			cost -= before
		}
		if ok && cost <= rest {
			w.more = append(w.more, oneMore{key: key, cost: cost})
		}
	}
	if len(w.more) > 1 {
		for i := range w.more {
			w.more[i].rank = prices.rank(w.more[i].key)
		}
		slices.SortFunc(w.more, func(a, b oneMore) int { return bytes.Compare(a.rank[:], b.rank[:]) })
	}
	for _, m := range w.more {
		if m.cost <= rest {
			w.counts[m.key]++
			rest -= m.cost
		}
	}
}

// costOf returns the cost of filling keys to a level, and whether the allowance pays for it.
func costOf(sizes []uint64, level uint64, allowance units.Mu2, prices pricer) (sum units.Mu2, fits bool) {
	for key, size := range sizes {
		c := min(size, level)
		if c == 0 {
			continue
		}
		cost, ok := prices.price(key, c)
		if !ok || cost > allowance-sum {
			return 0, false
		}
		sum += cost
	}
	return sum, true
}

// Filler chooses the counted part of a user's keys if all keys have the same price. The zero value
// is ready for use. Not safe for concurrent use.
type Filler struct {
	water water
	even  evenPrice
}

// evenPrice is the price c²·u for the amount c of any key.
type evenPrice struct {
	top    units.Precision
	rankOf func(key int) [16]byte
}

func (p *evenPrice) price(_ int, c uint64) (units.Mu2, bool) { return units.Charge(c, p.top) }
func (p *evenPrice) rank(key int) [16]byte                   { return p.rankOf(key) }

// Fill returns the counted amounts of keys with the given sizes: as much as the allowance pays for
// at the precision top, with the same level in all keys that are not counted in full. rank orders
// the user's keys. The result is valid until the next call.
func (f *Filler) Fill(sizes []uint64, allowance units.Mu2, top units.Precision, rank func(key int) [16]byte) []uint64 {
	f.even = evenPrice{top, rank}
	return f.water.fill(sizes, allowance, &f.even)
}
