package terminal

import (
	"cmp"
	"slices"
	"time"
)

// Row is one released value.
type Row struct {
	Start, End time.Time
	Key        string
	Statistic  string // name of a statistic beside the key's own value; "": the own value
	Value      float64
	Low, High  float64 // interval at the confidence of the metric
	Met        bool    // the target was met
	// Lopsided is set for values whose noise is not normal, such as quantiles: all that is known of
	// the noise is the interval. The mean of several lies between the means of their ends.
	Lopsided bool
	Unasked  bool // the value has no target
}

// margin returns how far the value is from the farther end of the interval. A quantile can be much
// closer to one end than to the other: half the width would leave a part of the interval out.
func (r Row) margin() float64 { return max(r.High-r.Value, r.Value-r.Low) }

// interval writes the interval of the value.
func (r Row) interval(decimals int) string {
	return Number(r.Low, decimals) + " to " + Number(r.High, decimals)
}

func keyOf(r Row) string { return r.Key }

// groups puts the rows with the same name together. The groups are in the order in which their
// names first appear.
func groups(rows []Row, name func(Row) string) (all [][]Row) {
	index := map[string]int{}
	for _, r := range rows {
		i, known := index[name(r)]
		if !known {
			i = len(all)
			index[name(r)] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], r)
	}
	return all
}

// size returns the sum of a key's own values. Statistics do not count: a standard deviation in
// seconds says nothing about how large a number of events is.
func size(rows []Row) (sum float64) {
	for _, r := range rows {
		if r.Statistic == "" {
			sum += r.Value
		}
	}
	return sum
}

// largestFirst puts keys with larger values first.
func largestFirst(groups [][]Row) {
	slices.SortStableFunc(groups, func(a, b []Row) int { return cmp.Compare(size(b), size(a)) })
}
