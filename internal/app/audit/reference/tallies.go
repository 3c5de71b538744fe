package reference

import "github.com/tollgate-dp/tollgate/schemas"

// MetricTallies counts the outcomes of accepted records for one metric. A record counts once in
// each window that contains it.
type MetricTallies struct {
	schemas.WindowTally
	Open, GivenUp uint64
}

// Tallies accounts for every record.
type Tallies struct {
	Records schemas.ReadTallies
	Metrics map[string]*MetricTallies // by name: the metrics of all generations
}

// metric returns the tallies of a metric.
func (t *Tallies) metric(name string) *MetricTallies {
	m := t.Metrics[name]
	if m == nil {
		if t.Metrics == nil {
			t.Metrics = map[string]*MetricTallies{}
		}
		m = &MetricTallies{}
		t.Metrics[name] = m
	}
	return m
}

func (t *Tallies) add(o Tallies) {
	t.Records.Add(o.Records)
	for name, m := range o.Metrics {
		sum := t.metric(name)
		sum.Add(m.WindowTally)
		sum.Open, sum.GivenUp = sum.Open+m.Open, sum.GivenUp+m.GivenUp
	}
}

// tallyWindows counts the windows of an accepted record that are still open, or that a change ended
// early. from is the index of the generation that decides the record.
func (p *Reader) tallyWindows(from int, local int64) {
	generations := p.r.generations
	last := generations[0].since()
	if ends := p.r.ends; len(ends) > 0 {
		last = ends[len(ends)-1]
	}
	for i := range generations[from].Metrics {
		m := &generations[from].Metrics[i]
		if !admits(m) ||
			floorDivide(local, m.WindowSlide)*m.WindowSlide+m.WindowSize <= last && from+1 == len(generations) {
			continue // all windows of the record have ended
		}
		for _, w := range generations[from].windowsOf(m, local) {
			switch {
			case from+1 < len(generations) && w.end > generations[from+1].Since: // a change ended the window early
				p.tallies.metric(m.Name).GivenUp++
			case w.end > last:
				p.tallies.metric(m.Name).Open++
			}
		}
	}
}
