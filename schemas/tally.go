package schemas

// WindowTally counts the accepted records of a metric window by outcome: excluded by the filter,
// beyond a cap or the user's allowance, or counted. It is for the trusted side only.
type WindowTally struct{ Filtered, Beyond, Counted uint64 }

// MetricTally is the tally of one metric in a turn.
type MetricTally struct {
	Metric uint32
	WindowTally
}

// Add adds o to t.
func (t *WindowTally) Add(o WindowTally) {
	t.Filtered, t.Beyond, t.Counted = t.Filtered+o.Filtered, t.Beyond+o.Beyond, t.Counted+o.Counted
}

// tallyBytes is the minimum length of an encoded WindowTally.
const tallyBytes = 3

func (t *WindowTally) layout(w *wire) {
	w.uint(&t.Filtered, "filtered")
	w.uint(&t.Beyond, "beyond")
	w.uint(&t.Counted, "counted")
}

func (w *wire) metricTallies(tallies *[]MetricTally) {
	list(w, tallies, 1+tallyBytes, "tallies", func(t *MetricTally, w *wire) {
		w.uint32(&t.Metric, "tally's metric")
		t.layout(w)
	})
}
