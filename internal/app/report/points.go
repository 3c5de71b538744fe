package report

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/schemas"
)

// unit is the number of units of a released value per count.
const unit = 1024

// point is a released value of a series, without the names that all values of the series share.
// Counts are in units of 1/1024.
type point struct {
	start, end   int64 // start and end of the window by the clock of the deployment's zone
	key          int32 // index into series.keys
	rungs        uint32
	value        int64
	below, above int64 // value − low, and high − value, both rounded up
	sigma        float64
	confidence   float64
	met          bool
}

// seriesID identifies a series. It includes the size of the windows, because an earlier
// configuration may have used the same name with windows of another size.
type seriesID struct {
	name string
	size int64
}

// series holds the points of one metric.
type series struct {
	id      seriesID
	keys    []string
	index   map[string]int32
	points  []point
	dropped summary             // figures of the dropped points
	horizon int64               // end of the oldest window that is kept; older points are dropped
	noise   map[string]struct{} // ids of noise keys
	parts   []int               // by key, if several statistics are joined: the index of the key's statistic
}

// points holds at most 2·limit releases at a time.
type points struct {
	limit int
	clock *wallclock.Clock
	kept  int
	byID  map[seriesID]*series
	err   error // the first conflict
}

func newPoints(limit int, clock *wallclock.Clock) *points {
	return &points{limit: limit, clock: clock, byID: map[seriesID]*series{}}
}

func (p *points) add(r schemas.Release) {
	start, end := p.clock.Begins(r.WindowStart), p.clock.Begins(r.WindowEnd)
	id := seriesID{r.Metric, end - start}
	s := p.byID[id]
	if s == nil {
		s = &series{id: id, index: map[string]int32{}, horizon: math.MinInt64, noise: map[string]struct{}{}}
		p.byID[id] = s
	}
	s.noise[r.NoiseKeyID] = struct{}{}
	pt := point{
		start: start, end: end, rungs: r.Rungs, value: r.Value, sigma: r.StdDev, confidence: r.Confidence, met: r.Met,
		below: margin(r.Value, r.Low, -1), above: margin(r.Value, r.High, 1),
	}
	if pt.end < s.horizon {
		s.dropped.add(pt)
		return
	}
	key, ok := s.index[r.Key]
	if !ok {
		key = int32(len(s.keys))
		s.keys = append(s.keys, r.Key)
		s.index[r.Key] = key
	}
	pt.key = key
	s.points = append(s.points, pt)
	p.kept++
	if p.kept >= 2*p.limit {
		p.prune()
	}
}

// margin returns the distance from a value to one end of its interval. sign is −1 for the low end
// and 1 for the high end. The distance is rounded up, so that the interval on the page covers the
// released interval.
func margin(value int64, end float64, sign float64) int64 {
	d := math.Ceil(sign*(end-float64(value)/unit)*unit - 1e-6)
	switch {
	case d >= math.MaxInt64/2:
		return math.MaxInt64 / 2
	case d <= 0:
		return 0
	}
	return int64(d)
}

// sort sorts points by key and window, and drops copies.
func (s *series) sort() error {
	var err error
	rank := s.rankKeys()
	slices.SortFunc(s.points, func(a, b point) int {
		return cmp.Or(cmp.Compare(rank[a.key], rank[b.key]), cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	s.points = slices.CompactFunc(s.points, func(a, b point) bool {
		same := a.key == b.key && a.start == b.start && a.end == b.end
		if same && a != b {
			err = ErrConflict
		}
		return same
	})
	return err
}

// rankKeys returns the rank of every key in byte order.
func (s *series) rankKeys() []int32 {
	order := make([]int32, len(s.keys))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(s.keys[a], s.keys[b]) })
	rank := make([]int32, len(order))
	for i, key := range order {
		rank[key] = int32(i)
	}
	return rank
}

// settle drops copies and the points beyond the limit, and returns all series.
func (p *points) settle() ([]*series, error) {
	p.prune()
	out := make([]*series, 0, len(p.byID))
	for _, id := range p.ids() {
		out = append(out, p.byID[id])
	}
	return out, p.err
}

func (p *points) ids() []seriesID {
	return slices.SortedFunc(maps.Keys(p.byID), func(a, b seriesID) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.size, b.size))
	})
}
