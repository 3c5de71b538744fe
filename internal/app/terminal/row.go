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
	Statistic  string // name of a statistic; "" for the key's own value
	Value      float64
	Low, High  float64 // interval at the confidence of the metric
	Met        bool    // the target was met
	// Lopsided is set for values whose noise is not normal, such as quantiles: only its interval is
	// known. The mean of several values lies between the means of their ends.
	Lopsided bool
	Unasked  bool // the value has no target
}

// margin returns the distance from the value to the farther end of the interval. A quantile can be
// much closer to one end than to the other: half the width would leave out part of the interval.
func (r Row) margin() float64 { return max(r.High-r.Value, r.Value-r.Low) }

// interval formats the interval of the value.
func (r Row) interval(decimals int) string {
	return Number(r.Low, decimals) + " to " + Number(r.High, decimals)
}

func keyOf(r Row) string { return r.Key }

// groups groups rows by name. The groups are in the order in which their names first appear.
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

// size returns the sum of a key's own values. Statistics are left out: a standard deviation in
// seconds says nothing about the size of a key.
func size(rows []Row) (sum float64) {
	for _, r := range rows {
		if r.Statistic == "" {
			sum += r.Value
		}
	}
	return sum
}

// largestFirst sorts keys by size, the largest first.
func largestFirst(groups [][]Row) {
	slices.SortStableFunc(groups, func(a, b []Row) int { return cmp.Compare(size(b), size(a)) })
}
