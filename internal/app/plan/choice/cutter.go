package choice

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

const day = 24 * time.Hour

// person holds the events of one user, in windows of one size.
type person struct {
	id      accounts.ID
	names   [][]byte // the user's keys, ascending
	windows []window
	entries []schemas.KeyCount    // of all windows, in the order of the windows
	cells   []int                 // by entry: the number of the cell
	truth   []float64             // by entry: the amount to count
	records []schemas.RecordValue // of all windows, in the order of the windows
	events  uint64
}

// window holds the ranges of a person's entries and records that belong to one window.
type window struct {
	number        int64
	entries, recs [2]int
}

// place identifies a cell.
type place struct {
	window int64
	key    uint64
}

// cutter cuts users' events into windows of one size and numbers the cells.
type cutter struct {
	size   int64
	kind   metrickind.Kind
	cells  map[place]int
	p      person
	keys   []uint64
	sorted []record // events of one window, sorted by key and value
}

func newCutter(size time.Duration, kind metrickind.Kind) *cutter {
	return &cutter{size: size.Milliseconds(), kind: kind, cells: map[place]int{}}
}

// cut cuts a user's events into windows. The result is valid until the next call.
func (c *cutter) cut(events []record) *person {
	p := &c.p
	p.windows, p.entries, p.cells, p.truth, p.records, p.names = p.windows[:0], p.entries[:0], p.cells[:0], p.truth[:0],
		p.records[:0], p.names[:0]
	p.events = uint64(len(events))
	binary.BigEndian.PutUint64(p.id[:], events[0].user)
	c.keys = c.keys[:0]
	for _, r := range events {
		c.keys = append(c.keys, r.key)
	}
	slices.Sort(c.keys)
	c.keys = slices.Compact(c.keys)
	for _, k := range c.keys {
		p.names = append(p.names, binary.BigEndian.AppendUint64(nil, k))
	}
	for len(events) > 0 {
		number, n := floor(events[0].millis, c.size), 1
		for n < len(events) && floor(events[n].millis, c.size) == number {
			n++
		}
		c.addWindow(number, events[:n])
		events = events[n:]
	}
	return p
}

func (c *cutter) addWindow(number int64, events []record) {
	p := &c.p
	c.sorted = append(c.sorted[:0], events...)
	slices.SortFunc(c.sorted, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.value,
			b.value))
	})
	w := window{number: number, entries: [2]int{len(p.entries)}, recs: [2]int{len(p.records)}}
	for i, r := range c.sorted {
		if i == 0 || r.key != c.sorted[i-1].key {
			key, _ := slices.BinarySearch(c.keys, r.key)
			cellPlace := place{number, r.key}
			cell, known := c.cells[cellPlace]
			if !known {
				cell = len(c.cells)
				c.cells[cellPlace] = cell
			}
			p.entries, p.cells, p.truth = append(p.entries, schemas.KeyCount{Key: uint32(key)}), append(p.cells, cell),
				append(p.truth, 0)
		}
		last := len(p.entries) - 1
		p.entries[last].N++
		switch {
		case c.kind.Sums():
			p.truth[last] += float64(r.value)
		case c.kind.OncePerUser:
			p.truth[last] = 1
		default:
			p.truth[last]++
		}
		if c.kind.Values() {
			c.addRecord(p.entries[last].Key, r.value, w.recs[0])
		}
	}
	w.entries[1], w.recs[1] = len(p.entries), len(p.records)
	p.windows = append(p.windows, w)
}

// addRecord adds a value to the records of a window, which begin at index from. If the last record
// has the same key and value, it only increments the number of that record.
func (c *cutter) addRecord(key uint32, value int64, from int) {
	p := &c.p
	if n := len(p.records); n > from && p.records[n-1].Key == key && p.records[n-1].Value == value {
		p.records[n-1].N++
		return
	}
	v := schemas.RecordValue{Key: key, N: 1, Value: value}
	binary.BigEndian.PutUint64(v.ID[:], uint64(value)^1<<63)
	p.records = append(p.records, v)
}

// floor returns millis/size, rounded down.
func floor(millis, size int64) int64 {
	n := millis / size
	if millis%size < 0 {
		n--
	}
	return n
}
