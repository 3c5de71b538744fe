package choice

import (
	"maps"
	"math"
	"math/bits"
	"slices"
)

// valueSteps is the number of rows of values on each side of 0. Each value of a row is twice the
// value in the row before it.
const valueSteps = 36

// chooseRange chooses a range that contains 0 and, for most users, nine in ten of their values.
func (c *chooser) chooseRange() error {
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
	near := slices.Clone(noisy)
	clearHidden(near, visible*deviation)
	for row, n := range noisy {
		// Of rows far from the greatest one, noise alone makes one count in one of 50,000 tables.
		switch step, counts := row-valueSteps, near[row] > 0 || n >= 5*deviation; {
		case counts && step > 0:
			f.Max = max(f.Max, 1<<step)
		case counts && step < 0:
			f.Min = min(f.Min, -(1 << -step))
		}
	}
	f.Few = f.Few || slices.Max(noisy) < 4*deviation
	if f.Min == f.Max {
		f.Max = 1
	}
	return nil
}

// valueTable counts users by the least power of 2 that nine in ten of their values do not exceed in
// size, and by the sign of most of their values. Each user is in exactly one row.
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

// spread is a range that contains nine in ten values of events.
type spread struct{ low, high float64 }

func spreadOf(values map[int64]uint64) spread {
	low, high := middle(values, 20)
	return spread{float64(low), float64(high)}
}

// middle returns the range of values without 1/parts of the events at each end.
func middle(values map[int64]uint64, parts uint64) (low, high int64) {
	all, sum := uint64(0), uint64(0)
	for _, n := range values {
		all += n
	}
	for _, v := range slices.Sorted(maps.Keys(values)) {
		if sum*parts <= all {
			low = v
		}
		if sum*parts < all*(parts-1) {
			high = v
		}
		sum += values[v]
	}
	return low, high
}

// scale returns the scale of a value's errors. It is the size of the value, but not more than the
// width of the range. It is at least a quarter of that width if the range contains 0, and otherwise
// at least a hundredth.
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

// Range returns a range that contains 99 in 100 values, with about two digits. It is not protected.
func (e *Events) Range() (least, most int64) {
	values := map[int64]uint64{}
	if err := e.each(func(events []record, _ float64) (bool, error) {
		for _, r := range events {
			values[coarse(r.value)]++
		}
		return true, nil
	}); err != nil || len(values) == 0 {
		return 0, 1
	}
	if least, most = middle(values, 200); least > 0 {
		least = 0
	}
	if least == most {
		most++
	}
	return least, most
}
