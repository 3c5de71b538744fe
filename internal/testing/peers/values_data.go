package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/shapes"
)

// The data of the mode "values": users who are active in some hours of a day, then with one key or
// two, and with one or two events of each.
const (
	valueUsers, valueKeys, valueWindows = 20_000, 20, 24
	valueWindow                         = time.Hour
	keysAtMost, eventsAtMost            = 2, 2 // of a user in a window, and of a key there
)

// purchase is what a user did with a key in a window.
type purchase struct {
	cell   string // as partitionOf names it
	values []float64
}

// valueData are events with values, and the same by user and by cell.
type valueData struct {
	events []shapes.Event
	users  [][]purchase
	cells  map[string][]float64 // sorted
	total  int
}

// newValueData draws the data: the same ones at every call. Keys follow Zipf's law with the
// exponent 0.7. The values of key k are log-normal with a median of 120 + 12k and a σ of 0.6, to
// the next whole number.
func newValueData() *valueData {
	random := rand.New(rand.NewPCG(28, 1))
	var upTo [valueKeys]float64 // cumulated weights of keys
	sum := 0.0
	for k := range upTo {
		sum += math.Pow(float64(k+1), -0.7)
		upTo[k] = sum
	}
	key := func() int {
		k, _ := slices.BinarySearch(upTo[:], random.Float64()*sum)
		return min(k, valueKeys-1)
	}
	d := &valueData{cells: map[string][]float64{}}
	shaped.window = valueWindow.Milliseconds()
	for u := range valueUsers {
		user := fmt.Sprint("u", u)
		var did []purchase
		active := math.Pow(random.Float64(), 1.5) // two fifths of the windows on average, less than a tenth for a fifth of the users
		for w := range valueWindows {
			if random.Float64() >= active && !(len(did) == 0 && w == u%valueWindows) {
				continue
			}
			keys := []int{key()}
			if k := key(); random.Float64() < 0.3 && k != keys[0] {
				keys = append(keys, k)
			}
			for _, k := range keys {
				var p purchase
				for range 1 + random.IntN(10)/7 {
					e := shapes.Event{
						User: user, Key: valueKey(k), At: shapes.Start.Add(time.Duration(w)*valueWindow + time.Duration(random.Int64N(int64(valueWindow)))),
						Value: int64(math.Round((120 + 12*float64(k)) * math.Exp(0.6*random.NormFloat64()))),
					}
					p.cell, p.values = partitionOf(e), append(p.values, float64(e.Value))
					d.events = append(d.events, e)
				}
				did = append(did, p)
				d.cells[p.cell] = append(d.cells[p.cell], p.values...)
				d.total += len(p.values)
			}
		}
		d.users = append(d.users, did)
	}
	slices.SortStableFunc(d.events, func(a, b shapes.Event) int { return cmp.Compare(a.At.UnixMilli(), b.At.UnixMilli()) })
	for _, values := range d.cells {
		slices.Sort(values)
	}
	return d
}

func valueKey(k int) string { return fmt.Sprintf("k%02d", k) }

// publicKeys are the keys of a window.
func publicKeys() (keys []string) {
	for k := range valueKeys {
		keys = append(keys, valueKey(k))
	}
	return keys
}

// publicCells are all pairs of window and key.
func publicCells() (cells []string) {
	for w := range valueWindows {
		for _, key := range publicKeys() {
			cells = append(cells, partitionOf(shapes.Event{Key: key, At: shapes.Start.Add(time.Duration(w) * valueWindow)}))
		}
	}
	return cells
}

// bounded returns what is left of each cell within bounds: pairs of window and key of a user, and
// events of a pair, drawn at random as Privacy on Beam draws them.
func (d *valueData) bounded(pairs, events int, seed uint64) (cells map[string][]float64, left int) {
	random := rand.New(rand.NewPCG(28, 2+seed))
	cells = map[string][]float64{}
	for _, did := range d.users {
		for i, at := range random.Perm(len(did)) {
			if i == pairs {
				break
			}
			p := did[at]
			for j, of := range random.Perm(len(p.values)) {
				if j == events {
					break
				}
				cells[p.cell] = append(cells[p.cell], p.values[of])
				left++
			}
		}
	}
	return cells, left
}

// meanOf and varianceOf are those of values that are clamped to at most.
func meanOf(values []float64, most float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += min(v, most)
	}
	return sum / float64(len(values))
}

func varianceOf(values []float64, most float64) float64 {
	mean, sum := meanOf(values, most), 0.0
	for _, v := range values {
		sum += (min(v, most) - mean) * (min(v, most) - mean)
	}
	return sum / float64(len(values))
}

// rankError is how far, as a share of the values, a value is from the quantile of a rank: 0 if no
// more than the rank's share is below it, and no less is at most it. Values are sorted.
func rankError(values []float64, released, rank float64) float64 {
	n := float64(len(values))
	below, _ := slices.BinarySearch(values, released)
	atMost, _ := slices.BinarySearch(values, math.Nextafter(released, math.Inf(1)))
	return max(0, float64(below)/n-rank, rank-float64(atMost)/n)
}
