package metrickind

// Counted is the kind that releases how many events another metric counts in a window, and how many
// it leaves out.
const Counted = "counted"

// The keys of a metric of the kind Counted, in the order of their bytes.
const (
	EventsCounted = "counted"
	EventsLeftOut = "left_out"
)

// counted: Bounds.Events limits a user's events in a window, over both keys together. Bounds.Max is
// the number of worst-case windows for which every account reserves a part.
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

// Divide scales the numbers of a user's counted and left-out events down to bound events in total;
// bound is above 0. Their ratio is preserved, rounded to the nearest event.
func Divide(counted, leftOut, bound uint64) (uint64, uint64) {
	all := counted + leftOut
	if all <= bound {
		return counted, leftOut
	}
	// Numbers of events have at most 40 bits and bounds 30, so no product overflows then.
	for all >= 1<<32 {
		counted, all = counted>>1, all>>1
	}
	bounded := min((2*counted*bound+all)/(2*all), bound)
	return bounded, bound - bounded
}

// Interval is a released number with the ends of its interval.
type Interval struct{ Value, Low, High float64 }

// ShareOf returns the share of events that are counted, from 0 to 1, with an interval, computed
// from the released numbers of both keys. If each key's interval misses its number with probability
// at most p, the share's misses with probability at most 2p. ok is false if neither number is above
// 0: the share is then unknown.
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
