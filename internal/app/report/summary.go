package report

import (
	"fmt"
	"maps"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
)

// Settled is the range of settled windows under one configuration. The zero value means that the
// range is unknown.
type Settled struct {
	Generation uint32
	Since, End time.Time // ends of the first and the last window
}

// Add adds the windows whose ends lie between since and end, under a configuration.
func (s *Settled) Add(generation uint32, since, end time.Time) {
	if s.End.IsZero() || s.Generation != generation {
		s.Generation, s.Since = generation, since
	}
	s.End = end
}

// windows returns the start of a metric's first settled window, the end of the last settled window,
// and the number of settled windows. The number is 0 if the windows are unknown.
func (s Settled) windows(clock *wallclock.Clock, size, slide int64) (first, last, count int64) {
	if s.End.IsZero() || slide <= 0 {
		return 0, 0, 0
	}
	past := func(moment int64) int64 { return (moment%slide + slide) % slide } // time since the last end of a window
	first, last = clock.Begins(s.Since.UnixMilli()), clock.Begins(s.End.UnixMilli())
	first, last = first+past(-first), last-past(last)
	return first - size, last, max((last-first)/slide+1, 0)
}

// summary holds the figures of many points.
type summary struct {
	count, met         int
	sigmaMin, sigmaMax float64
	rungsMin, rungsMax uint32
	windows            map[[2]int64]struct{} // start and end
	first, last        int64                 // start of the first window, end of the last
	settled            int                   // number of settled windows; 0 if unknown
	silent             int                   // number of settled windows after the last window with values
}

// extend adds the settled windows of a metric, whether they have values or not.
func (s *summary) extend(first, last, count, size, slide int64) {
	if count == 0 {
		return
	}
	s.silent = int(max(last-s.last, 0) / slide)
	s.first, s.last = min(s.first, first), max(s.last, last)
	s.settled = int((s.last-s.first-size)/slide) + 1
}

// unreleased returns a notice if the newest windows have no values, and otherwise "".
func (s *summary) unreleased() string {
	if s.silent == 0 {
		return ""
	}
	return fmt.Sprintf("No values in the latest %s, up to %s: users may have spent their budgets, or too few "+
		"contributed.",
		terminal.Count(s.silent, "window"), time.UnixMilli(s.last).UTC().Format("2006-01-02 15:04"))
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

// merge adds the points of another summary.
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

// summary returns the figures of all points that were ever added, including the dropped ones.
func (s *series) summary() summary {
	var all summary
	all.merge(s.dropped)
	for _, p := range s.points {
		all.add(p)
	}
	return all
}
