package serve

import (
	"cmp"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/schemas"
)

// seriesID identifies a series: the windows of one metric with the same size.
type seriesID struct {
	metric string
	size   int64
}

// seriesOf returns the series of a value. It measures windows by the clock of the time zone, by
// which all days have the same length.
func (v *values) seriesOf(r *schemas.Release) seriesID {
	return seriesID{r.Metric, v.clock.Begins(r.WindowEnd) - v.clock.Begins(r.WindowStart)}
}

// position is the place of a value in the order of all values.
type position struct {
	windowEnd   int64 // Unix milliseconds
	metric      string
	windowStart int64
	key         string
}

func positionOf(r *schemas.Release) position {
	return position{r.WindowEnd, r.Metric, r.WindowStart, r.Key}
}

func (a position) compare(b position) int {
	return cmp.Or(cmp.Compare(a.windowEnd, b.windowEnd), cmp.Compare(a.metric, b.metric), cmp.Compare(a.windowStart,
		b.windowStart), cmp.Compare(a.key, b.key))
}

// values holds the released values that are kept, in order. It must not be used concurrently, but a
// result of rows never changes.
type values struct {
	keep  int // number of windows to keep of each series
	limit int // maximum number of values; the last window of each series is kept even beyond it
	clock *wallclock.Clock
	all   []schemas.Release

	dropped bool // values have been dropped
}

// add adds the values of a turn. Until rows is called, values holds at most twice the limit, unless
// a single turn contains more.
func (v *values) add(releases []schemas.Release) {
	order := func(a, b schemas.Release) int { return positionOf(&a).compare(positionOf(&b)) }
	added := max(len(v.all)-1, 0)
	v.all = append(v.all, releases...)
	if !slices.IsSortedFunc(v.all[added:], order) {
		v.all = slices.Clone(v.all)
		slices.SortStableFunc(v.all, order)
	}
	if len(v.all) >= 2*v.limit {
		v.trim()
	}
}

// rows returns the kept values.
func (v *values) rows() []schemas.Release {
	v.trim()
	return slices.Clip(v.all)
}

// trim drops all but the newest keep windows of each series. While there are still more values than
// limit, it drops the oldest window of the series with the most values.
func (v *values) trim() {
	series := map[seriesID]*windowCounts{}
	for i := range v.all {
		id, end := v.seriesOf(&v.all[i]), v.all[i].WindowEnd
		s := series[id]
		if s == nil {
			s = &windowCounts{}
			series[id] = s
		}
		s.add(end)
	}
	remaining := 0
	for _, s := range series {
		for len(s.counts) > v.keep {
			s.drop()
		}
		remaining += s.values
	}
	for remaining > v.limit {
		var largest *windowCounts
		for _, s := range series {
			if len(s.counts) > 1 && (largest == nil || s.values > largest.values || s.values == largest.values &&
				s.ends[0] < largest.ends[0]) {
				largest = s
			}
		}
		if largest == nil {
			break
		}
		remaining -= largest.drop()
	}
	if remaining == len(v.all) {
		return
	}
	v.dropped = true
	kept := make([]schemas.Release, 0, remaining)
	for i := range v.all {
		if r := &v.all[i]; r.WindowEnd >= series[v.seriesOf(r)].ends[0] {
			kept = append(kept, *r)
		}
	}
	v.all = kept
}

// windowCounts counts the values of a series by window.
type windowCounts struct {
	ends   []int64 // ends of the windows, ascending
	counts []int   // number of values in each window
	values int     // sum of counts
}

func (w *windowCounts) add(end int64) {
	if n := len(w.ends); n == 0 || w.ends[n-1] != end {
		w.ends, w.counts = append(w.ends, end), append(w.counts, 0)
	}
	w.counts[len(w.counts)-1]++
	w.values++
}

// drop drops the oldest window and returns its number of values.
func (w *windowCounts) drop() int {
	n := w.counts[0]
	w.ends, w.counts, w.values = w.ends[1:], w.counts[1:], w.values-n
	return n
}
