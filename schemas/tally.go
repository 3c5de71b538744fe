package schemas

// WindowTally says what became of the accepted records of a metric window: how many the metric does
// not take, how many were clipped by max_keys_per_user and how many by max_events_per_key, how many
// are of users whose accounts could not pay, and how many were counted. Like every tally it is for
// the trusted side only.
type WindowTally struct {
	Filtered, ClippedKeys, ClippedEvents, OverBudget, Counted uint64
}

// MetricTally says what became of the records that the shards saw for one metric in a turn.
type MetricTally struct {
	Metric uint32
	WindowTally
}

// Add adds the tally of another metric window.
func (t *WindowTally) Add(o WindowTally) {
	of := o.numbers()
	for i, n := range t.numbers() {
		*n += *of[i]
	}
}

// Clipped returns how many records were clipped, by either bound.
func (t WindowTally) Clipped() uint64 { return t.ClippedKeys + t.ClippedEvents }

// numbers lists the fields in the order of the encoding.
func (t *WindowTally) numbers() [5]*uint64 {
	return [...]*uint64{&t.Filtered, &t.ClippedKeys, &t.ClippedEvents, &t.OverBudget, &t.Counted}
}

// tallyBytes is the least length of an encoded WindowTally.
const tallyBytes = 5

func (t *WindowTally) layout(w *wire) {
	for _, n := range t.numbers() {
		w.uint(n, "tally")
	}
}

func (w *wire) metricTallies(tallies *[]MetricTally) {
	list(w, tallies, 1+tallyBytes, "tallies", func(t *MetricTally, w *wire) {
		w.uint32(&t.Metric, "tally's metric")
		t.layout(w)
	})
}
