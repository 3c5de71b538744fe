package choice

import (
	"maps"
	"math"
	"math/bits"
	"slices"
)

// valueSteps are the rows of values on each side of 0, each with twice the values of the one
// before.
const valueSteps = 36

// values chooses the range in which nine in ten values of most users lie. It begins or ends at 0 if
// none are beyond.
func (c *chooser) values() error {
	table, err := c.valueTable()
	if err != nil {
		return err
	}
	noisy, deviation, err := c.noisy(table)
	if err != nil {
		return err
	}
	f := c.found
	f.Min, f.Max = 0, 0
	for row, n := range noisy {
		if n < visible*deviation {
			continue
		}
		switch step := row - valueSteps; {
		case step > 0:
			f.Max = max(f.Max, 1<<step)
		case step < 0:
			f.Min = min(f.Min, -(1 << -step))
		}
	}
	if f.Min == f.Max {
		f.Max = 1
	}
	return nil
}

// valueTable counts users by the least power of 2 that nine in ten of their values do not exceed in
// size, and by the sign of most of these: each user is in one row.
func (c *chooser) valueTable() (exact, error) {
	table := make([]int64, 2*valueSteps+1)
	var steps []int
	return exact{valuesDecision, table}, c.events.each(func(events []record, _ float64) (bool, error) {
		steps = steps[:0]
		negative := 0
		for _, r := range events {
			size := uint64(r.value)
			if r.value < 0 {
				size = -size
				negative++
			}
			steps = append(steps, min(bits.Len64(size), valueSteps))
		}
		slices.Sort(steps)
		step := steps[len(steps)-1-len(steps)/10]
		if 2*negative > len(events) {
			step = -step
		}
		table[valueSteps+step]++
		return true, nil
	})
}

// spread is the range in which nine of ten values of events lie.
type spread struct{ low, high float64 }

func spreadOf(values map[int64]uint64) (s spread) {
	var sorted []int64
	all := uint64(0)
	for v, n := range values {
		sorted = append(sorted, v)
		all += n
	}
	slices.Sort(sorted)
	sum := uint64(0)
	for _, v := range sorted {
		if before := sum; before*20 <= all {
			s.low = float64(v)
		}
		if sum*20 < all*19 {
			s.high = float64(v)
		}
		sum += values[v]
	}
	return s
}

// scale returns what an error of a value is compared with: the value's own size, but no more than
// the range, and no less than a quarter of it if 0 is inside. Elsewhere a hundredth of the range
// stands for values next to 0.
func (s spread) scale(value float64) float64 {
	size := s.high - s.low
	if size == 0 {
		size = max(1, math.Abs(s.high))
	}
	least := size / 100
	if s.low < 0 && s.high > 0 {
		least = size / 4
	}
	return max(least, min(size, math.Abs(value)))
}

// coarse rounds a value to seven binary digits.
func coarse(v int64) int64 {
	_, exponent := math.Frexp(float64(v))
	unit := math.Ldexp(1, max(0, exponent-7))
	return int64(math.RoundToEven(float64(v)/unit) * unit)
}

// Range returns the range in which 99 of 100 values lie, with two digits: raw data.
func (e *Events) Range() (least, most int64) {
	values, all := map[int64]uint64{}, uint64(0)
	if err := e.each(func(events []record, _ float64) (bool, error) {
		for _, r := range events {
			values[coarse(r.value)]++
			all++
		}
		return true, nil
	}); err != nil || all == 0 {
		return 0, 1
	}
	sum := uint64(0)
	for _, v := range slices.Sorted(maps.Keys(values)) {
		if sum*200 <= all {
			least = v
		}
		if sum*200 < all*199 {
			most = v
		}
		sum += values[v]
	}
	if least = min(least, 0); least == most {
		most++
	}
	return least, most
}
