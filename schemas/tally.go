package schemas

import "encoding/binary"

// MetricTally says what became of the records that the shards saw for one metric in a turn. Like
// every tally it is a trusted-side number.
type MetricTally struct {
	Metric uint32
	WindowTally
}

// Add adds the tally of another metric window.
func (t *WindowTally) Add(o WindowTally) {
	t.Filtered += o.Filtered
	t.Clipped += o.Clipped
	t.OverBudget += o.OverBudget
	t.Counted += o.Counted
}

func appendMetricTallies(dst []byte, tallies []MetricTally) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(tallies)))
	for _, t := range tallies {
		dst = binary.AppendUvarint(dst, uint64(t.Metric))
		for _, n := range [...]uint64{t.Filtered, t.Clipped, t.OverBudget, t.Counted} {
			dst = binary.AppendUvarint(dst, n)
		}
	}
	return dst
}

func (d *wireDecoder) metricTallies() []MetricTally {
	n := d.count("tallies", 5)
	if n == 0 {
		return nil
	}
	tallies := make([]MetricTally, n)
	for i := range tallies {
		t := &tallies[i]
		t.Metric = d.uint32("tally's metric")
		for _, to := range [...]*uint64{&t.Filtered, &t.Clipped, &t.OverBudget, &t.Counted} {
			*to = d.uvarint("tally")
		}
	}
	return tallies
}
