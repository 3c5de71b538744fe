package reference

import (
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
)

// window is the interval [start, end), in milliseconds since 1970 by the clock of the zone. All
// times in this file are of that clock. A metric's windows start at multiples of its slide.
type window struct{ start, end int64 }

// floorDivide returns ⌊a/b⌋ for b > 0, even if a is negative.
func floorDivide(a, b int64) int64 {
	if a%b < 0 {
		return a/b - 1
	}
	return a / b
}

// windowsOf lists a metric's windows that contain a time, earliest first. Windows that begin before
// the generation do not count.
func (c *Config) windowsOf(m *schemas.MetricSpec, millis int64) []window {
	var all []window
	last := floorDivide(millis, m.WindowSlide) * m.WindowSlide
	for start := last - m.WindowSize + m.WindowSlide; start <= last; start += m.WindowSlide {
		if start >= c.since() && c.begins(start, m.WindowSlide) {
			all = append(all, window{start, start + m.WindowSize})
		}
	}
	return all
}

// windowEnding returns a metric's window that ends at a time, if there is one.
func (c *Config) windowEnding(m *schemas.MetricSpec, end int64) (window, bool) {
	w := window{end - m.WindowSize, end}
	return w, end%m.WindowSlide == 0 && w.start >= c.since() && c.begins(w.start, m.WindowSlide)
}

// begins reports whether a window begins at start. If the zone's clock jumps from start to the
// metric's next window or beyond, only the later window begins.
func (c *Config) begins(start, slide int64) bool {
	return c.Zone == nil || c.Zone.Time(start) < c.Zone.Time(start+slide)
}

// TurnEnds lists the ends of the first n turns: the multiples of all slides after start, in order,
// each once.
func (c *Config) TurnEnds(n uint64) []int64 {
	ends := make([]int64, 0, n)
	last := c.since()
	if c.Before != nil {
		if ends = c.Before.TurnEnds(min(n, c.From-1)); len(ends) > 0 {
			last = ends[len(ends)-1]
		}
	}
	for uint64(len(ends)) < n {
		last = c.nextEnd(last)
		ends = append(ends, last)
	}
	return ends
}

// nextEnd returns the first multiple of any slide after a time.
func (c *Config) nextEnd(after int64) int64 {
	var candidates []int64
	for _, m := range c.Metrics {
		candidates = append(candidates, (floorDivide(after, m.WindowSlide)+1)*m.WindowSlide)
	}
	return slices.Min(candidates)
}

// turnOf returns the number of the turn that covers an event's time: the first turn that ends after
// that time. known reports whether the turn's end is in ends. Turns are numbered from 1.
func turnOf(millis int64, ends []int64) (turn uint64, known bool) {
	i, exact := slices.BinarySearch(ends, millis)
	if exact { // a turn does not cover its own end
		i++
	}
	return uint64(i) + 1, i < len(ends)
}

// periodOf returns the number of the budget period that a time lies in.
func (c *Config) periodOf(millis int64) int64 {
	if c.Period == 0 {
		return 0
	}
	return floorDivide(millis, c.Period)
}

// PeriodIsOver reports whether every window that overlaps a period has ended by now. No window
// charges such a period any more.
func (c *Config) PeriodIsOver(period, now int64) bool {
	if c.Period == 0 {
		return false
	}
	for _, m := range c.Metrics {
		latest := floorDivide((period+1)*c.Period-1, m.WindowSlide) * m.WindowSlide
		if latest >= c.since() && latest+m.WindowSize > now {
			return false
		}
	}
	return true
}
