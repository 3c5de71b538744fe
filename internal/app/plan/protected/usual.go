package protected

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
)

// The borders of the tables: an individual is in the first row whose number is not below its own.
var (
	keyRows    = []int{1, 2, 3, 5, 10, 20, 50, 100, 200, 500}
	eventRows  = []int{1, 2, 3, 5, 10, 20, 50, 100, 300, 1000}
	windowRows = []int{1, 2, 3, 5, 8, 12, 24, 48, 100, 200, 500, 1000, 5000}
	// Values double from row to row, on either side of 0, which is in the middle.
	valueRows = 2*valueSteps + 1
)

const valueSteps = 36

// valueRow returns the row of a value: below it are those of the values below.
func valueRow(v int64) int {
	step := min(bits.Len64(magnitude(v)), valueSteps)
	if v < 0 {
		return valueSteps - step
	}
	return valueSteps + step
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// valueOf returns what stands for a row of values: the middle of its range.
func valueOf(row int) int64 {
	step := row - valueSteps
	switch {
	case step == 0:
		return 0
	case step < 0:
		return -valueOf(2*valueSteps - row)
	}
	return int64(math.Round(math.Ldexp(math.Sqrt2, step-1)))
}

// row returns the number of the row of a value; the last one takes all that is above.
func row(rows []int, v float64) int {
	at := slices.IndexFunc(rows, func(n int) bool { return v <= float64(n)+1e-9 })
	if at < 0 {
		return len(rows) - 1
	}
	return at
}

// usual is what one user usually does; with periods, in the period in which the user is counted.
type usual struct {
	keys, events float64 // keys in a window, and events of a key in a window: means over the individual's events
	windows      int
	frequent     []string // the keys with the most events, at most MostKeys
	value        int      // the row of its values: nine in ten are not larger, without their signs
}

// done is what an individual did.
type done struct {
	cells  map[cell]uint64
	values map[int]uint64 // events by the row of their value; nil: not asked for
	over   bool           // there are too many cells
}

// add adds an event, unless the individual then has more than most cells.
func (d *done) add(c cell, value int64, most int) {
	if d.over = d.over || len(d.cells) == most && d.cells[c] == 0; d.over {
		d.cells, d.values = nil, nil
		return
	}
	d.cells[c]++
	if d.values != nil {
		d.values[valueRow(value)]++
	}
}

// value returns the row of the least size that nine in ten values do not exceed; of the two signs
// the one with more such values, or the positive one.
func (d *done) value() int {
	all, sum := uint64(0), uint64(0)
	for _, n := range d.values {
		all += n
	}
	step := 0
	for ; step < valueSteps; step++ {
		if sum += d.values[valueSteps+step]; step > 0 {
			sum += d.values[valueSteps-step]
		}
		if sum >= all-all/10 {
			break
		}
	}
	if d.values[valueSteps-step] > d.values[valueSteps+step] {
		return valueSteps - step
	}
	return valueSteps + step
}

// cell is what an individual did with a key in a window.
type cell struct {
	window int64
	key    string
}

// mostCells bounds the memory for one individual to some ten megabytes. Seven keys in every hour of
// a year are fewer cells. An individual with more is not counted at all: if only some of its cells
// were left out, the order of records would decide which.
const mostCells = 1 << 16

// usualOf looks at an individual's events by window and key; there is at least one.
func usualOf(did *done) usual {
	keysIn, eventsIn, byKey := map[int64]int{}, map[int64]uint64{}, map[string]uint64{}
	var all, squares, products uint64 // whole numbers: sums do not depend on the order
	for c, n := range did.cells {
		n = min(n, 1<<20)
		keysIn[c.window]++
		eventsIn[c.window] += n
		byKey[c.key] += n
		all += n
		squares += n * n
	}
	for w, keys := range keysIn {
		products += uint64(keys) * eventsIn[w]
	}
	u := usual{value: did.value(), windows: len(keysIn), events: float64(squares) / float64(all), keys: float64(products) / float64(all)}
	byFrequency := func(a, b string) int { return cmp.Or(cmp.Compare(byKey[b], byKey[a]), cmp.Compare(a, b)) }
	for k := range byKey { // sorting all of them would take most of the time where there are many
		if len(u.frequent) == MostKeys && byFrequency(k, u.frequent[MostKeys-1]) > 0 {
			continue
		}
		u.frequent = append(u.frequent, k)
		slices.SortFunc(u.frequent, byFrequency)
		u.frequent = u.frequent[:min(len(u.frequent), MostKeys)]
	}
	return u
}

// encode writes an event for the sorter: injectively.
func encode(dst, user, key []byte, window, value int64) []byte {
	dst = binary.AppendVarint(dst[:0], window)
	dst = binary.AppendVarint(dst, value)
	dst = binary.AppendUvarint(dst, uint64(len(user)))
	dst = append(dst, user...)
	return append(dst, key...)
}

var errEncoding = errors.New("damaged sort run")

func decode(entry []byte) (who string, c cell, value int64, err error) {
	for _, to := range []*int64{&c.window, &value} {
		v, n := binary.Varint(entry)
		if n <= 0 {
			return "", cell{}, 0, errEncoding
		}
		*to, entry = v, entry[n:]
	}
	size, n := binary.Uvarint(entry)
	if n <= 0 || size > uint64(len(entry)-n) {
		return "", cell{}, 0, errEncoding
	}
	c.key = string(entry[n+int(size):])
	return string(entry[n : n+int(size)]), c, value, nil
}

// individuals calls fn with what each individual did that has at most so many cells, and with the
// hash of its id, by which the entries must be sorted.
func individuals(sorted *eventfile.Merge, most int, values bool, fn func(did *done, hash int64) error) error {
	group := map[string]*done{}
	hash := int64(math.MinInt64)
	flush := func() error {
		for _, did := range group {
			if did.over {
				continue
			}
			if err := fn(did, hash); err != nil {
				return err
			}
		}
		clear(group)
		return nil
	}
	for {
		e, ok, err := sorted.Next()
		if err != nil {
			return fmt.Errorf("looking at users one by one: %w", err)
		}
		if !ok {
			return flush()
		}
		if e.Millis != hash {
			if err := flush(); err != nil {
				return err
			}
			hash = e.Millis
		}
		who, c, value, err := decode(e.Value)
		if err != nil {
			return err
		}
		did := group[who]
		if did == nil {
			did = &done{cells: map[cell]uint64{}}
			if values {
				did.values = map[int]uint64{}
			}
			group[who] = did
		}
		did.add(c, value, most)
	}
}
