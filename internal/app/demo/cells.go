package demo

import (
	"math"
	"slices"
	"time"
)

// cells is what windows of one size hold: how many records of a user meet which bound, and how
// large counts are to be expected. Records come in the order of a source.
type cells struct {
	size     int64 // of a window, milliseconds
	lateness int64 // by which records may be out of order, milliseconds
	own      trial

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
	released outcome   // of own

	tried    []trial // other settings
	outcomes []outcome
}

// trial is settings with which a source may be counted.
type trial struct {
	bounds
	limits
}

// outcome is what a trial makes of a source.
type outcome struct {
	largest float64 // the greatest count that is to be expected
	nothing float64 // log of a bound for the chance that no key is released
}

// bounds are what one user can contribute in a window, and in how many windows at least.
type bounds struct {
	keys, events float64
	windows      int
}

func boundsOf(s Settings) bounds {
	return bounds{float64(s.MaxKeysPerUser), float64(s.MaxEventsPerKey), s.LastAtLeast}
}

// keep returns how many of a user's n events of one key are to be expected to stay, of a user of so
// many keys: which keys stay is decided by a keyed hash, so that each is as likely.
func (b bounds) keep(n, keys uint64) float64 {
	return min(float64(n), b.events) * min(1, b.keys/float64(keys))
}

// sureOf is the log of the chance at most with which an advice that is to have keys released may
// have none released.
var sureOf = math.Log(3e-7)

// sums has by key what the records of a window come to.
type sums map[uint32]struct{ expected, paid, variance float64 }

// add adds a user's n events of a key; past is in how many windows the user took part before.
func (s sums) add(key uint32, b bounds, n, keys uint64, past int) {
	k, at := b.keep(n, keys), s[key]
	at.expected += k
	if past < b.windows {
		at.paid += k
		at.variance += k * (min(float64(n), b.events) - k)
	}
	s[key] = at
}

// add takes the counts of a window.
func (o *outcome) add(window sums, l limits) {
	for _, at := range window {
		o.largest = max(o.largest, at.expected)
		if !math.IsInf(l.tau, 0) {
			z := (at.paid - l.tau) / math.Sqrt(at.variance+l.sigma*l.sigma)
			o.nothing += math.Log(max(math.Erfc(z/math.Sqrt2)/2, math.SmallestNonzeroFloat64))
		}
	}
}

// cell is a user and a key, by number.
type cell struct{ user, key uint32 }

func newCells(size, lateness time.Duration, own trial, tried []trial) *cells {
	return &cells{size: size.Milliseconds(), lateness: lateness.Milliseconds(), own: own,
		open: map[int64]map[cell]uint64{}, byEvents: histogram{}, byKeys: histogram{},
		tried: tried, outcomes: make([]outcome, len(tried))}
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

// closeUntil takes the figures of the windows that end by a time, in their order: what a user has
// left in a window depends on those before.
func (c *cells) closeUntil(millis int64) {
	var over []int64
	for start := range c.open {
		if start+c.size <= millis {
			over = append(over, start)
		}
	}
	slices.Sort(over)
	for _, start := range over {
		c.take(c.open[start])
		delete(c.open, start)
	}
}

func (c *cells) finish() { c.closeUntil(math.MaxInt64) }

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
		keys[at.key] = count{n: k.n + c.own.keep(n, users[at.user].n), records: k.records + n, others: k.others + 1}
	}
	c.users = append(c.users, len(users))
	keysOf := func(user uint32) uint64 { return users[user].n }
	c.released.add(c.sums(w, c.own.bounds, keysOf), c.own.limits)
	for i, t := range c.tried {
		c.outcomes[i].add(c.sums(w, t.bounds, keysOf), t.limits)
	}
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
		if k.n < c.own.tau {
			c.below++
			c.belowOf += k.records
		}
		if k.n > c.largest {
			c.largest, c.behind = k.n, k.others
		}
	}
}

// sums returns what the keys of a window come to within bounds; keys has the number of keys of a
// user.
func (c *cells) sums(w map[cell]uint64, b bounds, keys func(user uint32) uint64) sums {
	s := sums{}
	for at, n := range w {
		past := 0
		if int(at.user) < len(c.windows) {
			past = int(c.windows[at.user])
		}
		s.add(at.key, b, n, keys(at.user), past)
	}
	return s
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
