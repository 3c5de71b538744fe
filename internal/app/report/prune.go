package report

import (
	"cmp"
	"maps"
	"slices"
)

// prune drops copies and then the oldest windows, so that at most limit points are left. The result
// depends only on the set of points, not on their order: a metric's room only shrinks as points are
// added, so a window that has been dropped would not fit later either.
func (p *points) prune() {
	ids := p.ids()
	for _, id := range ids {
		if err := p.byID[id].sort(); err != nil {
			p.err = err
		}
	}
	p.kept = 0
	for i, room := range p.share(ids) {
		s := p.byID[ids[i]]
		s.keep(room)
		p.kept += len(s.points)
	}
}

// share divides the limit equally among the metrics. A metric that has had fewer points than an
// equal part leaves the rest to the others.
func (p *points) share(ids []seriesID) []int {
	rooms, order := make([]int, len(ids)), make([]int, len(ids))
	for i, id := range ids {
		s := p.byID[id]
		rooms[i], order[i] = len(s.points)+s.dropped.count, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rooms[a], rooms[b]) })
	remaining := p.limit
	for i, metric := range order {
		rooms[metric] = min(rooms[metric], remaining/(len(order)-i))
		remaining -= rooms[metric]
	}
	return rooms
}

// keep drops all points except those of the newest windows that fit completely into room. If not
// even the newest window fits, keep leaves the largest values of that window.
func (s *series) keep(room int) {
	if len(s.points) <= room {
		return
	}
	count := map[int64]int{}
	for i := range s.points {
		count[s.points[i].end]++
	}
	ends := slices.Sorted(maps.Keys(count))
	s.horizon = ends[len(ends)-1]
	for total, i := 0, len(ends)-1; i >= 0 && total+count[ends[i]] <= room; i-- {
		total += count[ends[i]]
		s.horizon = ends[i]
	}
	s.points = slices.DeleteFunc(s.points, func(pt point) bool {
		if pt.end < s.horizon {
			s.dropped.add(pt)
			return true
		}
		return false
	})
	if len(s.points) > room {
		slices.SortStableFunc(s.points, func(a, b point) int { return cmp.Compare(b.value, a.value) })
		for _, pt := range s.points[room:] {
			s.dropped.add(pt)
		}
		s.points = s.points[:room]
		s.sort() //nolint:errcheck // prune has already dropped copies
	}
	s.forgetKeys()
}

// forgetKeys drops keys without points.
func (s *series) forgetKeys() {
	names := s.keys
	s.keys, s.index = nil, map[string]int32{}
	for i := range s.points {
		name := names[s.points[i].key]
		key, ok := s.index[name]
		if !ok {
			key = int32(len(s.keys))
			s.keys = append(s.keys, name)
			s.index[name] = key
		}
		s.points[i].key = key
	}
}
