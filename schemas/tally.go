package schemas

// WindowTally counts the accepted records of a metric window by outcome: filtered out by the
// metric, beyond the allowances of their users or beyond caps, and counted. Like every tally it is
// for the trusted side only.
type WindowTally struct {
	Filtered, Beyond, Counted uint64
}

// MetricTally counts the shards' records for one metric in a turn by outcome.
type MetricTally struct {
	Metric uint32
	WindowTally
}

// Add adds the tally of another metric window.
func (t *WindowTally) Add(o WindowTally) {
	others := o.numbers()
	for i, n := range t.numbers() {
		*n += *others[i]
	}
}

// numbers lists the fields in the order of the encoding.
func (t *WindowTally) numbers() [3]*uint64 {
	return [...]*uint64{&t.Filtered, &t.Beyond, &t.Counted}
}

// tallyBytes is the least length of an encoded WindowTally.
const tallyBytes = 3

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
