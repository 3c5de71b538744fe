package demo

import (
	"slices"
	"time"
)

// cells is what windows of one size hold: how many records of a user meet which bound, and how
// large counts could be at most. Records come in the order of a source.
type cells struct {
	size      int64 // of a window, milliseconds
	lateness  int64 // by which records may be out of order, milliseconds
	bound     uint64
	threshold float64

	open  map[int64]map[cell]uint64 // by window: the records of a user and key
	newer int64                     // the latest time so far

	byEvents histogram // by the events of a user, key and window
	byKeys   histogram // by the keys of a user in a window
	windows  []uint32  // by user: in how many windows
	records  []uint64  // by user
	users    []int     // by window that is not empty
	counts   uint64    // a key in a window
	below    uint64    // of them, those that cannot reach the threshold
	belowOf  uint64    // their records
	largest  uint64    // the greatest count: the sum of what users may contribute
	behind   uint64    // users of the greatest count
}

// cell is a user and a key, by number.
type cell struct{ user, key uint32 }

func newCells(size, lateness time.Duration, bound int, threshold float64) *cells {
	return &cells{size: size.Milliseconds(), lateness: lateness.Milliseconds(), bound: uint64(bound), threshold: threshold,
		open: map[int64]map[cell]uint64{}, byEvents: histogram{}, byKeys: histogram{}}
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
	type sum struct{ n, records, others uint64 }
	users, keys := map[uint32]sum{}, map[uint32]sum{}
	for at, n := range w {
		c.byEvents[n] += n
		u := users[at.user]
		users[at.user] = sum{n: u.n + 1, records: u.records + n}
		k := keys[at.key]
		keys[at.key] = sum{n: k.n + min(n, c.bound), records: k.records + n, others: k.others + 1}
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
		if float64(k.n) < c.threshold {
			c.below++
			c.belowOf += k.records
		}
		if k.n > c.largest {
			c.largest, c.behind = k.n, k.others
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
