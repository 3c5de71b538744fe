package metrickind

// Counted is how many events of a window of another metric are counted there, and how many are
// left out.
const Counted = "counted"

// The keys of a metric of the kind Counted, in the order of their bytes: events that its metric
// counts, and events that it leaves out.
const (
	EventsCounted = "counted"
	EventsLeftOut = "left_out"
)

// Its Bounds.Events is the most events of a user in a window, over both keys together. Its
// Bounds.Max is for how many windows at the worst case a part of every account is kept for it.
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

// Divide returns how many of a user's events are counted and left out, cut to at most bound events
// in all, above 0: if a user has more, both keep their ratio, rounded to the nearest event.
func Divide(counted, leftOut, bound uint64) (uint64, uint64) {
	all := counted + leftOut
	if all <= bound {
		return counted, leftOut
	}
	// Numbers of events fit 40 bits and bounds 30: no product overflows after the shift.
	for all >= 1<<32 {
		counted, all = counted>>1, all>>1
	}
	kept := min((2*counted*bound+all)/(2*all), bound)
	return kept, bound - kept
}

// Interval is a released number with the ends of its interval.
type Interval struct{ Value, Low, High float64 }

// ShareOf returns the share of events that is counted, from the released numbers of both keys: 0 to
// 1, with the ends of an interval. If the interval of either key misses its number at most once in
// n times, the interval of the share misses at most twice. ok is false if nothing is known, because
// no number is above 0.
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
