package reference

// RecordTallies count records by outcome. Read is the sum of all others.
type RecordTallies struct {
	Read, Skipped, BeforeStart, Late, Future, Overtaken, Accepted uint64
	DeadLettered                                                  map[string]uint64 // by class
}

// MetricTallies count the outcomes of the accepted records for one metric, once for every window
// that a record lies in.
type MetricTallies struct {
	Filtered, Beyond, Counted, Open, GivenUp uint64
}

// Tallies account for every record.
type Tallies struct {
	Records RecordTallies
	// in the order of the configuration; with several generations, in the order in which the
	// metrics were added
	Metrics []MetricTallies
	Names   []string // of Metrics
	Windows []uint64 // by metric: (accepted record, window) pairs; the sum of its tallies
}

func newTallies(names []string) Tallies {
	return Tallies{
		Records: RecordTallies{DeadLettered: map[string]uint64{}},
		Metrics: make([]MetricTallies, len(names)), Names: names, Windows: make([]uint64, len(names)),
	}
}

func (t *RecordTallies) add(j Judged) {
	t.Read++
	switch j.Outcome {
	case Skipped:
		t.Skipped++
	case DeadLettered:
		t.DeadLettered[j.Class]++
	case BeforeStart:
		t.BeforeStart++
	case Late:
		t.Late++
	case Future:
		t.Future++
	case Overtaken:
		t.Overtaken++
	case Accepted:
		t.Accepted++
	}
}

func (m *MetricTallies) add(o MetricTallies) {
	m.Filtered += o.Filtered
	m.Beyond += o.Beyond
	m.Counted += o.Counted
	m.Open += o.Open
	m.GivenUp += o.GivenUp
}

func (t *Tallies) add(o Tallies) {
	r := &t.Records
	for i, n := range r.numbers() {
		*n += *o.Records.numbers()[i]
	}
	for class, n := range o.Records.DeadLettered {
		r.DeadLettered[class] += n
	}
	for i := range t.Metrics {
		t.Metrics[i].add(o.Metrics[i])
		t.Windows[i] += o.Windows[i]
	}
}

func (t *RecordTallies) numbers() [7]*uint64 {
	return [...]*uint64{&t.Read, &t.Skipped, &t.BeforeStart, &t.Late, &t.Future, &t.Overtaken, &t.Accepted}
}

// tallyWindows counts the windows of an accepted record that a generation decides, and those of
// them that have not ended or never will.
func (p *Reader) tallyWindows(from int, reading int64) {
	all, t := p.r.all, &p.tallies
	last := all[0].since()
	if ends := p.r.ends; len(ends) > 0 {
		last = ends[len(ends)-1]
	}
	for _, m := range all[from].Metrics {
		if !admits(m) {
			continue
		}
		i := p.r.position[m.Name]
		for _, w := range all[from].windowsOf(m, reading) {
			t.Windows[i]++
			switch {
			case from+1 < len(all) && w.end > all[from+1].Since: // a change has ended it early
				t.Metrics[i].GivenUp++
			case w.end > last:
				t.Metrics[i].Open++
			}
		}
	}
}
