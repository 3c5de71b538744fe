package report

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

// summary sums up all points that were ever added, kept or not.
func (s *series) summary() summary {
	all := s.left
	all.windows = nil
	if s.left.windows != nil {
		all.windows = make(map[[2]int64]struct{}, len(s.left.windows))
		for w := range s.left.windows {
			all.windows[w] = struct{}{}
		}
	}
	for _, p := range s.points {
		all.add(p)
	}
	return all
}
