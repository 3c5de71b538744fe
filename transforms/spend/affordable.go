package spend

import (
	"bytes"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
)

// This file decides which of a user's events the budget pays for. The others are Beyond.

// affordable returns, for each of the user's keys, the amount that the allowance can pay for.
func (c *clipper) affordable(allowance units.Mu2) []uint64 {
	if c.m.countsByRank() {
		c.upperBounds = true
		_, fits := costOf(c.sizes, math.MaxUint64, allowance, c)
		if c.upperBounds = false; fits {
			return c.sizes
		}
		for i := range c.userKeys {
			c.rankRecords(&c.userKeys[i])
		}
	}
	return c.water.fill(c.sizes, allowance, c)
}

// price implements pricer. If the metric counts the first events of a key by rank, the result is
// the price of the first n events. Each sum in it is the maximum over the first 1, 2, … n events,
// so the price does not fall as n grows.
func (c *clipper) price(i int, n uint64) (units.Mu2, bool) {
	m := c.m
	if !m.countsByRank() {
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

// priceOfTree returns the price of all tree nodes to which the first n events of a key contribute.
func (c *clipper) priceOfTree(k *userKey, n uint64) (units.Mu2, bool) {
	levels, top := c.m.scale.Levels(), c.rules.metrics[c.m.nodes].spec.Top
	if c.upperBounds {
		return units.ChargeSquares(uint64(levels)*n*n, top)
	}
	from := len(c.leaves)
	c.addLeaves(k, n)
	squares := metrickind.Squares(c.leaves[from:], levels, nil)
	c.leaves = c.leaves[:from]
	return units.ChargeSquares(squares, top)
}

// pricer computes prices for the keys of one user in one window. The keys are numbered from 0.
type pricer interface {
	// price returns the cost of counting the amount c ≥ 1 of a key. ok is false if no account can
	// pay this cost. The cost does not fall as c grows.
	price(key int, c uint64) (cost units.Mu2, ok bool)
	// rank returns a key's rank among the user's keys.
	rank(key int) [16]byte
}

// water divides an allowance among the keys of a user. It fills all keys to the same level.
type water struct {
	counts     []uint64
	candidates []candidate
}

// candidate is a key for which one more event could be counted, with the additional cost.
type candidate struct {
	key  int
	cost units.Mu2
	rank [16]byte
}

// fill returns the counted amount of each key. It fills the keys like vessels of the given sizes,
// up to the highest common level for which the allowance pays. It then takes the keys that are not
// full in the order of their ranks, and counts one more event of each if the remaining allowance
// pays for it. The result is valid until the next call.
//
// If c events of any key cost c²·u, no other choice within the allowance counts more events,
// because it costs more to count an event of a key with a higher level.
func (w *water) fill(sizes []uint64, allowance units.Mu2, prices pricer) []uint64 {
	if _, fits := costOf(sizes, math.MaxUint64, allowance, prices); fits {
		return sizes
	}
	// Invariant: the allowance pays for the level low, but not for the level high.
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
	w.raiseByOne(sizes, low, allowance-cost, prices)
	return w.counts
}

// raiseByOne takes the keys above the level in the order of their ranks. It counts one more event
// of each if the remaining allowance pays for it.
func (w *water) raiseByOne(sizes []uint64, level uint64, remaining units.Mu2, prices pricer) {
	w.candidates = w.candidates[:0]
	for key, size := range sizes {
		if size <= level {
			continue
		}
		cost, ok := prices.price(key, level+1)
		if level > 0 {
			before, _ := prices.price(key, level)
			cost -= before
		}
		if ok && cost <= remaining {
			w.candidates = append(w.candidates, candidate{key: key, cost: cost})
		}
	}
	if len(w.candidates) > 1 {
		for i := range w.candidates {
			w.candidates[i].rank = prices.rank(w.candidates[i].key)
		}
		slices.SortFunc(w.candidates, func(a, b candidate) int { return bytes.Compare(a.rank[:], b.rank[:]) })
	}
	for _, m := range w.candidates {
		if m.cost <= remaining {
			w.counts[m.key]++
			remaining -= m.cost
		}
	}
}

// costOf returns the cost of filling all keys to a level, and whether the allowance pays for it.
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
// is ready for use. A Filler is not safe for concurrent use.
type Filler struct {
	water  water
	prices uniformPrice
}

// uniformPrice is a pricer in which the amount c of any key costs c²·u.
type uniformPrice struct {
	top    units.Precision
	rankOf func(key int) [16]byte
}

func (p *uniformPrice) price(_ int, c uint64) (units.Mu2, bool) { return units.Charge(c, p.top) }
func (p *uniformPrice) rank(key int) [16]byte                   { return p.rankOf(key) }

// Fill returns the counted amounts of keys with the given sizes. They are the largest amounts for
// which the allowance pays at the precision top. All keys that are not fully counted have the same
// level, except for one more event of some keys. rank determines the order of these keys. The
// result is valid until the next call.
func (f *Filler) Fill(sizes []uint64, allowance units.Mu2, top units.Precision, rank func(key int) [16]byte) []uint64 {
	f.prices = uniformPrice{top, rank}
	return f.water.fill(sizes, allowance, &f.prices)
}
