package demo

import (
	"slices"
	"time"
)

// cells is what windows of one size hold: how many records of a user meet which bound, and how
// large counts are to be expected. Records come in the order of a source.
type cells struct {
	size      int64 // of a window, milliseconds
	lateness  int64 // by which records may be out of order, milliseconds
	bounds    bounds
	threshold float64

	open  map[int64]map[cell]uint64 // by window: the records of a user and key
	newer int64                     // the latest time so far

	byEvents histogram // by the events of a user, key and window
	byKeys   histogram // by the keys of a user in a window
	windows  []uint32  // by user: in how many windows
	records  []uint64  // by user
	users    []int     // by window that is not empty
	counts   uint64    // a key in a window
	below    uint64    // of them, those that are to be expected below the threshold
	belowOf  uint64    // their records
	largest  float64   // the greatest count that is to be expected of what users may contribute
	behind   uint64    // users of the greatest count

	tried    []bounds  // others than those of the settings
	expected []float64 // by tried bounds: the greatest count that is to be expected
}

// bounds are what one user can contribute in a window.
type bounds struct{ keys, events float64 }

func boundsOf(s Settings) bounds {
	return bounds{float64(s.MaxKeysPerUser), float64(s.MaxEventsPerKey)}
}

// keep returns how many of a user's n events of one key are to be expected to stay, of a user of so
// many keys: which keys stay is decided by a keyed hash, so that each is as likely.
func (b bounds) keep(n, keys uint64) float64 {
	return min(float64(n), b.events) * min(1, b.keys/float64(keys))
}

// cell is a user and a key, by number.
type cell struct{ user, key uint32 }

func newCells(size, lateness time.Duration, own bounds, threshold float64, tried []bounds) *cells {
	return &cells{size: size.Milliseconds(), lateness: lateness.Milliseconds(), bounds: own, threshold: threshold,
		open: map[int64]map[cell]uint64{}, byEvents: histogram{}, byKeys: histogram{},
		tried: tried, expected: make([]float64, len(tried))}
}

func (c *cells) add(millis int64, of cell) {
	start := millis - (millis%c.size+c.size)%c.size
	if c.newer < millis {
		c.newer = millis
		c.closeUntil(millis - c.lateness)
	}
	if start+c.size <= c.newer-c.lateness && c.open[start] == nil {
		return // late
	}
	w := c.open[start]
	if w == nil {
		w = map[cell]uint64{}
		c.open[start] = w
	}
	w[of]++
}

// closeUntil takes the figures of the windows that end by a time.
func (c *cells) closeUntil(millis int64) {
	for start, w := range c.open {
		if start+c.size <= millis {
			c.take(w)
			delete(c.open, start)
		}
	}
}

func (c *cells) finish() {
	for _, w := range c.open {
		c.take(w)
	}
	c.open = nil
}

func (c *cells) take(w map[cell]uint64) {
	type sum struct{ n, records uint64 }
	type count struct {
		n               float64
		records, others uint64
	}
	users, keys := map[uint32]sum{}, map[uint32]count{}
	for at, n := range w {
		c.byEvents[n] += n
		u := users[at.user]
		users[at.user] = sum{n: u.n + 1, records: u.records + n}
	}
	for at, n := range w {
		k := keys[at.key]
		keys[at.key] = count{n: k.n + c.bounds.keep(n, users[at.user].n), records: k.records + n, others: k.others + 1}
	}
	c.users = append(c.users, len(users))
	for user, u := range users {
		c.byKeys[u.n] += u.records
		for int(user) >= len(c.windows) {
			c.windows, c.records = append(c.windows, 0), append(c.records, 0)
		}
		c.windows[user]++
		c.records[user] += u.records
	}
	for _, k := range keys {
		c.counts++
		if k.n < c.threshold {
			c.below++
			c.belowOf += k.records
		}
		if k.n > c.largest {
			c.largest, c.behind = k.n, k.others
		}
	}
	for i, b := range c.tried {
		sums := map[uint32]float64{}
		for at, n := range w {
			sums[at.key] += b.keep(n, users[at.user].n)
		}
		for _, n := range sums {
			c.expected[i] = max(c.expected[i], n)
		}
	}
}

// byWindows is the records of users by the number of windows in which they take part.
func (c *cells) byWindows() histogram {
	h := histogram{}
	for user, n := range c.windows {
		h[uint64(n)] += c.records[user]
	}
	return h
}

// median returns the median of the users of a window; 0 without windows.
func (c *cells) median() int {
	if len(c.users) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(c.users))
	return sorted[len(sorted)/2]
}

// histogram has the number of records for each size of the group that they belong to.
type histogram map[uint64]uint64

// keeps returns the least bound under which a share of the records is kept, if of a group of n the
// bound's part of it stays: all of it, or bound/n.
func (h histogram) keeps(share float64) uint64 {
	var greatest uint64
	for n := range h {
		greatest = max(greatest, n)
	}
	kept := func(bound uint64) (part, all float64) {
		for n, records := range h {
			part += float64(records) * min(1, float64(bound)/float64(n))
			all += float64(records)
		}
		return part, all
	}
	low, high := uint64(1), max(1, greatest)
	for low < high {
		middle := (low + high) / 2
		if part, all := kept(middle); part >= share*all {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}
