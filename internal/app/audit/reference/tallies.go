package reference

import "slices"

// RecordTallies count records by outcome. Read is the sum of all others.
type RecordTallies struct {
	Read, Skipped, BeforeStart, Late, Future, Overtaken, Accepted uint64
	DeadLettered                                                  map[string]uint64 // by class
}

// MetricTallies count what one metric made of the accepted records, once for every window that a
// record lies in.
type MetricTallies struct {
	Filtered, Beyond, Counted, Open, GivenUp uint64
}

// Tallies account for every record.
type Tallies struct {
	Records RecordTallies
	// in the order of the configuration; with several generations, in the order of the metrics'
	// coming
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

// tallyWindows counts the windows of every accepted record, and those of them that have not ended
// or never will.
func tallyWindows(all []Config, t *Tallies, events []accepted, ends []int64) {
	last := all[0].Start
	if len(ends) > 0 {
		last = ends[len(ends)-1]
	}
	known := names(all)
	for _, e := range events {
		turn, _ := turnOf(e.millis, ends)
		from := decides(all, turn)
		for _, m := range all[from].Metrics {
			if !admits(m) {
				continue
			}
			i := slices.Index(known, m.Name)
			for _, w := range all[from].windowsOf(m, e.millis) {
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
}
