package sample

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"time"
)

// Options say what is kept.
type Options struct {
	// Step is what the sizes of windows are multiples of; whole milliseconds.
	Step time.Duration
	// From and To are the range of times, [From, To), Unix milliseconds: events outside are counted
	// only. A From of zero is 1970, before which no event counts; a To of zero is no limit.
	From, To int64
	// Users and Cells are how many are kept at most; defaults 200,000 and 4,000,000. A cell takes
	// some 60 bytes while events come, and 28 afterwards.
	Users, Cells int
	// Key decides who is kept; the same key chooses the same users.
	Key [32]byte
	// Values says that the events have values, which are kept to seven binary digits.
	Values bool
}

const (
	defaultUsers = 200_000
	defaultCells = 4_000_000
	// MostWindows bounds what one record far away in time makes of the range.
	MostWindows = 5_000_000
)

const day = 24 * 60 * 60 * 1000 // milliseconds

// ErrTooManyWindows says that the range of events is cut into more windows than can be looked at.
var ErrTooManyWindows = errors.New("too many windows")

// Collector takes events, in any order. Not for concurrent use.
type Collector struct {
	o       Options
	limit   uint64 // hashes up to it are kept
	halved  int    // how often the limit was halved
	hashKey []byte

	users  map[string]uint32
	hashes []uint64 // by user
	of     []int    // by user: cells; −1: there were too many, and the user is left out
	keys   map[string]uint32
	names  []string // by key
	cells  map[where]uint32

	events, outside uint64
	left            int  // users that were left out
	hours           bool // an event in the range is not at the start of a day
	first, last     int64
}

// where says where a user did something: a key in a step.
type where struct {
	step      int64
	user, key uint32
	value     float32
}

// NewCollector returns a collector without events.
func NewCollector(o Options) *Collector {
	o.Users, o.Cells = cmp.Or(o.Users, defaultUsers), cmp.Or(o.Cells, defaultCells)
	return &Collector{o: o, limit: math.MaxUint64, hashKey: o.Key[:], users: map[string]uint32{}, keys: map[string]uint32{}, cells: map[where]uint32{}}
}

// Add takes an event. It keeps no reference to user and key.
func (c *Collector) Add(user, key []byte, millis int64) { c.AddN(user, key, millis, 0, 1) }

// AddN takes n events that are alike. Their value is 0 unless the options say that there are
// values.
func (c *Collector) AddN(user, key []byte, millis, value int64, n uint32) {
	if n == 0 {
		return
	}
	if millis < c.o.From || millis >= c.o.To && c.o.To != 0 {
		c.outside += uint64(n)
		return
	}
	if c.events == 0 || millis < c.first {
		c.first = millis
	}
	if c.events == 0 || millis > c.last {
		c.last = millis
	}
	c.events += uint64(n)
	c.hours = c.hours || millis%day != 0
	u, known := c.users[string(user)]
	if !known {
		hash := c.hash(user)
		if hash > c.limit {
			return
		}
		u = uint32(len(c.hashes))
		c.users[string(user)] = u
		c.hashes, c.of = append(c.hashes, hash), append(c.of, 0)
	}
	if c.of[u] < 0 {
		return
	}
	k, known := c.keys[string(key)]
	if !known {
		k = uint32(len(c.names))
		c.names = append(c.names, string(key))
		c.keys[c.names[k]] = k
	}
	at := where{step: Floor(millis, c.o.Step.Milliseconds()), user: u, key: k}
	if c.o.Values {
		at.value = coarse(value)
	}
	was := c.cells[at]
	c.cells[at] = was + min(n, math.MaxUint32-was)
	if was == 0 {
		c.of[u]++
	}
	if c.of[u] > c.quarter() {
		c.leaveOut(u)
		c.rename(nil)
	}
	for len(c.hashes) > c.o.Users || len(c.cells)+c.left*(c.quarter()+1) > c.o.Cells {
		c.halve()
	}
}

// Seen returns how many events were added, inside of the range and outside.
func (c *Collector) Seen() uint64 { return c.events + c.outside }

// quarter is how many cells one user may have.
func (c *Collector) quarter() int { return max(64, c.o.Cells/4) }

// leaveOut forgets what one user did who takes a quarter of the room: halving would go on until
// that user is gone, and nearly all others with it. The room stays taken, so that who is kept does
// not depend on the order of events.
func (c *Collector) leaveOut(user uint32) {
	maps.DeleteFunc(c.cells, func(at where, _ uint32) bool { return at.user == user })
	c.of[user] = -1
	c.left++
}

// coarse rounds a value to seven binary digits, to even where it stands in the middle.
func coarse(v int64) float32 {
	_, exponent := math.Frexp(float64(v))
	unit := math.Ldexp(1, max(0, exponent-7))
	return float32(math.RoundToEven(float64(v)/unit) * unit)
}

// hash is keyed, and spread over all 64 bits by a finisher: FNV alone leaves the first bits alike.
func (c *Collector) hash(user []byte) uint64 {
	h := fnv.New64a()
	h.Write(c.hashKey)
	h.Write(user)
	return Mix(h.Sum64())
}

// Mix spreads a number over 64 bits: the finisher of SplitMix64 (Steele, Lea, Flood 2014).
func Mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// halve forgets half of the users.
func (c *Collector) halve() {
	c.limit /= 2
	c.halved++
	moved := make([]uint32, len(c.hashes)) // 0: gone, else the number plus one
	users, hashes, of := map[string]uint32{}, []uint64{}, []int{}
	c.left = 0
	for id, u := range c.users {
		if c.hashes[u] <= c.limit {
			users[id] = uint32(len(hashes))
			hashes, of = append(hashes, c.hashes[u]), append(of, c.of[u])
			if c.of[u] < 0 {
				c.left++
			}
			moved[u] = uint32(len(hashes))
		}
	}
	c.users, c.hashes, c.of = users, hashes, of
	c.rename(moved)
}

// rename forgets the cells of users that are gone, and the keys that no cell has any more. moved
// has the new number of every user plus one, 0 where the user is gone; nil: none is.
func (c *Collector) rename(moved []uint32) {
	keys, names, renamed := map[string]uint32{}, []string{}, make([]uint32, len(c.names))
	cells := map[where]uint32{}
	for at, n := range c.cells {
		if moved != nil {
			if moved[at.user] == 0 {
				continue
			}
			at.user = moved[at.user] - 1
		}
		if renamed[at.key] == 0 {
			names = append(names, c.names[at.key])
			keys[c.names[at.key]] = uint32(len(names) - 1)
			renamed[at.key] = uint32(len(names))
		}
		at.key = renamed[at.key] - 1
		cells[at] = n
	}
	c.keys, c.names, c.cells = keys, names, cells
}

// Floor returns millis / step, rounded down.
func Floor(millis, step int64) int64 {
	n := millis / step
	if millis%step < 0 {
		n--
	}
	return n
}

// Sample is what the users who were kept did. Read-only.
type Sample struct {
	Step            time.Duration
	Rate            float64 // the share of users that was kept: 1 for all
	Kept            int     // users
	Users           float64 // how many there are in all: an estimate where Rate is below 1
	UsersError      float64 // of Users, at 95 %
	Events, Outside uint64  // of all users: in the range, and outside of it
	Names           []string
	First, Last     int64 // of the events in the range, Unix milliseconds
	Values          bool  // as in the options
	Dates           bool  // every event in the range is at the start of a day
	// Left is how many users are left out, because one alone took a quarter of the room.
	Left int

	from, to int64 // of the options
	cells    []stepCell
}

type stepCell struct {
	step int64
	Cell
}

// Sample ends the collecting: the collector is empty afterwards. Users and keys are numbered in the
// order of their hashes and names, whatever the order of events was.
func (c *Collector) Sample() *Sample {
	rate := math.Ldexp(1, -c.halved)
	kept := float64(len(c.hashes))
	s := &Sample{Step: c.o.Step, Rate: rate, Kept: len(c.hashes), Users: kept / rate, UsersError: 1.96 * math.Sqrt(kept*(1-rate)) / rate,
		Events: c.events, Outside: c.outside, First: c.first, Last: c.last, Values: c.o.Values, Dates: !c.hours, Left: c.left, from: c.o.From, to: c.o.To}
	users := ranks(c.users, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.hashes[c.users[a]], c.hashes[c.users[b]]), cmp.Compare(a, b))
	})
	keys := ranks(c.keys, func(a, b string) int { return cmp.Compare(a, b) })
	s.Names = make([]string, len(c.names))
	for k, name := range c.names {
		s.Names[keys[k]] = name
	}
	s.cells = make([]stepCell, 0, len(c.cells))
	for at, n := range c.cells {
		s.cells = append(s.cells, stepCell{at.step, Cell{users[at.user], keys[at.key], n, at.value}})
	}
	*c = *NewCollector(c.o)
	slices.SortFunc(s.cells, func(a, b stepCell) int {
		return cmp.Or(cmp.Compare(a.step, b.step), order(a.Cell, b.Cell))
	})
	return s
}

// ranks returns the rank of each number by the order of its text.
func ranks(numbers map[string]uint32, order func(a, b string) int) []uint32 {
	texts := make([]string, 0, len(numbers))
	for t := range numbers {
		texts = append(texts, t)
	}
	slices.SortFunc(texts, order)
	out := make([]uint32, len(texts))
	for rank, t := range texts {
		out[numbers[t]] = uint32(rank)
	}
	return out
}

// Aligned says whether windows of a size can be cut: a multiple of Step, and the range of the
// options, where one was given, begins and ends where windows do.
func (s *Sample) Aligned(size time.Duration) bool {
	ms := size.Milliseconds()
	return size%s.Step == 0 && s.from%ms == 0 && s.to%ms == 0
}

// Windows cuts the sample into windows of a size, a multiple of Step, that begin at multiples of
// the size since 1970: from the one of the range's beginning, or of the first event, to that of its
// end, or of the last event. Errors: ErrTooManyWindows.
func (s *Sample) Windows(size time.Duration) (*Windows, error) {
	ms := size.Milliseconds()
	first, last := s.First, s.Last
	if s.from != 0 {
		first = s.from
	}
	if s.to != 0 {
		last = s.to - 1
	}
	w := &Windows{Size: size, Start: Floor(first, ms) * ms, Rate: s.Rate, Users: s.Kept, Keys: len(s.Names), Names: s.Names, Values: s.Values}
	if s.Events == 0 {
		return w, nil
	}
	n := Floor(last, ms) - Floor(first, ms) + 1
	if n > MostWindows {
		return nil, fmt.Errorf("cutting the events from %s to %s into windows of %s: %d windows: %w", stamp(first), stamp(last), size, n, ErrTooManyWindows)
	}
	w.ends = make([]int, n)
	steps := ms / s.Step.Milliseconds()
	w.cells = make([]Cell, 0, len(s.cells))
	for at := 0; at < len(s.cells); {
		window := Floor(s.cells[at].step, steps)
		from, end := len(w.cells), at
		for ; end < len(s.cells) && Floor(s.cells[end].step, steps) == window; end++ {
			w.cells = append(w.cells, s.cells[end].Cell)
		}
		if steps > 1 {
			w.cells = append(w.cells[:from], merged(w.cells[from:])...)
		}
		w.ends[window-w.Start/ms] = len(w.cells)
		at = end
	}
	for i := 1; i < len(w.ends); i++ {
		w.ends[i] = max(w.ends[i], w.ends[i-1])
	}
	return w, nil
}

// merged sorts cells and adds up those of one user, key and value.
func merged(cells []Cell) []Cell {
	slices.SortFunc(cells, order)
	n := 0
	for _, c := range cells {
		if n > 0 && order(cells[n-1], c) == 0 {
			cells[n-1].Events += min(c.Events, math.MaxUint32-cells[n-1].Events)
			continue
		}
		cells[n] = c
		n++
	}
	return cells[:n]
}

func order(a, b Cell) int {
	return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
}

func stamp(millis int64) string { return time.UnixMilli(millis).UTC().Format(time.RFC3339) }
