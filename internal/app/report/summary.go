package report

import "maps"

// summary has the figures over many points.
type summary struct {
	count, met         int
	sigmaMin, sigmaMax float64
	rungsMin, rungsMax uint32
	windows            map[[2]int64]struct{} // start and end
	first, last        int64                 // start of the first window, end of the last
}

func (s *summary) add(p point) {
	if s.windows == nil {
		s.windows = map[[2]int64]struct{}{}
		s.sigmaMin, s.rungsMin, s.first, s.last = p.sigma, p.rungs, p.start, p.end
	}
	s.count++
	if p.met {
		s.met++
	}
	s.sigmaMin, s.sigmaMax = min(s.sigmaMin, p.sigma), max(s.sigmaMax, p.sigma)
	s.rungsMin, s.rungsMax = min(s.rungsMin, p.rungs), max(s.rungsMax, p.rungs)
	s.first, s.last = min(s.first, p.start), max(s.last, p.end)
	s.windows[[2]int64{p.start, p.end}] = struct{}{}
}

// merge adds what another summary has the figures over.
func (s *summary) merge(o summary) {
	switch {
	case o.windows == nil:
		return
	case s.windows == nil:
		*s = o
		s.windows = maps.Clone(o.windows)
		return
	}
	s.count, s.met = s.count+o.count, s.met+o.met
	s.sigmaMin, s.sigmaMax = min(s.sigmaMin, o.sigmaMin), max(s.sigmaMax, o.sigmaMax)
	s.rungsMin, s.rungsMax = min(s.rungsMin, o.rungsMin), max(s.rungsMax, o.rungsMax)
	s.first, s.last = min(s.first, o.first), max(s.last, o.last)
	maps.Copy(s.windows, o.windows)
}

// summary sums up all points that were ever added, kept or not.
func (s *series) summary() summary {
	var all summary
	all.merge(s.left)
	for _, p := range s.points {
		all.add(p)
	}
	return all
}
