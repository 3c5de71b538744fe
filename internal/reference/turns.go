package reference

// A window is [start, end) in Unix milliseconds; windows lie on multiples of their size since the Unix epoch.
type window struct{ start, end int64 }

// windowOf gives the window of one size that contains a time, also before 1970.
func windowOf(millis, size int64) window {
	start := millis - millis%size
	if millis%size < 0 {
		start -= size
	}
	return window{start, start + size}
}

// TurnEnds lists the ends of the first n turns: the window ends of all metrics after start, in order, each once.
func (c Config) TurnEnds(n uint64) []int64 {
	ends := make([]int64, 0, n)
	last := c.Start
	for uint64(len(ends)) < n {
		next := int64(0)
		for i, m := range c.Metrics {
			// A time equal to a window's end belongs to the next window, so this is the first end after last.
			if end := windowOf(last, m.WindowSize).end; i == 0 || end < next {
				next = end
			}
		}
		ends = append(ends, next)
		last = next
	}
	return ends
}

// TurnsUntil counts the turns that end at or before a time.
func (c Config) TurnsUntil(millis int64) uint64 {
	for n := uint64(1); ; n++ {
		ends := c.TurnEnds(n)
		if ends[n-1] > millis {
			return n - 1
		}
	}
}

// turnOf numbers the turn in whose slice an event falls: the first one that ends after it. Turns are numbered from 1.
func turnOf(millis int64, ends []int64) (uint64, bool) {
	for i, end := range ends {
		if millis < end {
			return uint64(i) + 1, true
		}
	}
	return 0, false
}
