package reference

// RecordTallies count records by fate. Read is the sum of all others.
type RecordTallies struct {
	Read, BeforeStart, Late, Future, Overtaken, Accepted uint64
	DeadLettered                                         map[string]uint64 // by class
}

// MetricTallies count the accepted records as one metric saw them; their sum is RecordTallies.Accepted.
type MetricTallies struct {
	Filtered, Clipped, OverBudget, Counted, Open uint64
}

// Tallies account for every record.
type Tallies struct {
	Records RecordTallies
	Metrics []MetricTallies // in the order of the configuration
}

func (t *RecordTallies) add(j Judged) {
	t.Read++
	switch j.Fate {
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

// Consistent tells whether the parts add up to the whole, per record and per metric.
func (t Tallies) Consistent() bool {
	r := t.Records
	sum := r.BeforeStart + r.Late + r.Future + r.Overtaken + r.Accepted
	for _, n := range r.DeadLettered {
		sum += n
	}
	if sum != r.Read {
		return false
	}
	for _, m := range t.Metrics {
		if m.Filtered+m.Clipped+m.OverBudget+m.Counted+m.Open != r.Accepted {
			return false
		}
	}
	return true
}
