package metrickind

// Counted is the kind that releases how many events another metric counts in a window and how many
// events that metric leaves out.
const Counted = "counted"

// The keys of a metric of the kind Counted, in the order of their bytes.
const (
	EventsCounted = "counted"
	EventsLeftOut = "left_out"
)

// counted returns the kind Counted. For this kind, Bounds.Events limits a user's events in a
// window, over both keys together, and Bounds.Max is the number of worst-case windows for which
// every account reserves a part of its budget.
func counted() Kind {
	return Kind{
		Name:  Counted,
		Range: func(b Bounds) (least, greatest int64) { return 0, b.Events },
		Share: true,
		Texts: Texts{
			Label: "counted events",
			Value: "number of events in {of}, counted and beyond the allowance",
		},
	}
}

// Divide reduces the numbers of a user's counted and left-out events to bound events in total, if
// they exceed bound, which must be above 0. It preserves their ratio, to the nearest event.
func Divide(counted, leftOut, bound uint64) (uint64, uint64) {
	all := counted + leftOut
	if all <= bound {
		return counted, leftOut
	}
	// counted and all are reduced to 32 bits. As bound has at most 30 bits, no product overflows.
	for all >= 1<<32 {
		counted, all = counted>>1, all>>1
	}
	bounded := min((2*counted*bound+all)/(2*all), bound)
	return bounded, bound - bounded
}

// Interval is a released number with its confidence interval.
type Interval struct{ Value, Low, High float64 }

// ShareOf returns the share of events that are counted, from 0 to 1, computed from the released
// numbers of both keys. If each key's interval misses the true number with probability at most p,
// the share's interval misses the true share with probability at most 2p. ok is false if neither
// number is above 0, because the share is then unknown.
func ShareOf(counted, leftOut Interval) (share Interval, ok bool) {
	ratio := func(in, out float64) float64 {
		if in, out = max(in, 0), max(out, 0); in > 0 {
			return in / (in + out)
		}
		return 0
	}
	if max(counted.Value, leftOut.Value) <= 0 {
		return Interval{High: 1}, false
	}
	share = Interval{ratio(counted.Value, leftOut.Value), ratio(counted.Low, leftOut.High),
		ratio(counted.High, leftOut.Low)}
	return share, true
}
