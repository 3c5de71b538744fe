package spend

import (
	"bytes"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/state/units"
)

// priced are a user's keys in a window, by number from 0.
type priced interface {
	// price returns what the user pays if c ≥ 1 of a key is counted; ok is false if no account can
	// pay that. It does not fall as c grows.
	price(key int, c uint64) (cost units.Mu2, ok bool)
	// rank orders the user's keys.
	rank(key int) [16]byte
}

// water chooses how much of each of a user's keys is counted, as an allowance permits.
type water struct {
	counts []uint64
	more   []oneMore
}

// oneMore is a key that could count one more event, with the cost of that.
type oneMore struct {
	key  int
	cost units.Mu2
	rank [16]byte
}

// fill returns how much is counted of each key of a user who has so much in each: like water in
// vessels of these sizes, the same level m in all keys that are not full, the greatest m that the
// allowance pays for. One more is counted in each key that is not full, in order of ranks, if the
// rest of the allowance pays for it. The result is valid until the next call.
//
// For counts of events, where c events of any key cost c²·u, no other choice within the allowance
// counts more events: an event moved from a key at level m to one at a higher level costs more.
func (w *water) fill(sizes []uint64, allowance units.Mu2, prices priced) []uint64 {
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

// addOneMore counts one more in keys that have more than the level, if the rest pays for it.
func (w *water) addOneMore(sizes []uint64, level uint64, rest units.Mu2, prices priced) {
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

// costOf returns what the user pays at a level, and whether that is within the allowance.
func costOf(sizes []uint64, level uint64, allowance units.Mu2, prices priced) (sum units.Mu2, fits bool) {
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
