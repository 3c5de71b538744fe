package advice

import (
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
)

// round are the numbers that settings are chosen from.
func round(atLeast float64) int {
	for power := 1; ; power *= 10 {
		for _, digit := range []int{1, 2, 3, 5, 8} {
			if n := digit * power; float64(n) >= atLeast || n > 1<<28 {
				return n
			}
		}
	}
}

// most is how many values of one setting are tried.
const most = 5

// values returns round numbers from 1 to what 99 % of users do not exceed, in equal ratios.
func values(given int, q sample.Quantiles, most int) []int {
	if given > 0 {
		return []int{given}
	}
	var out []int
	for i := range most {
		out = append(out, round(math.Pow(q.P99, float64(i)/float64(most-1))-1e-9))
	}
	return slices.Compact(out)
}

// ranges returns what values may be clamped to: to what some, most or all of them do not exceed.
// Two sides cost no more than one. One range of zeros where there are no values.
func (q *Question) ranges(s *sample.Stats) (out [][2]int64) {
	if s.Above == nil {
		return make([][2]int64, 1)
	}
	for _, of := range []func(sample.Quantiles) float64{
		func(q sample.Quantiles) float64 { return q.P50 }, func(q sample.Quantiles) float64 { return q.P75 }, func(q sample.Quantiles) float64 { return q.P90 },
		func(q sample.Quantiles) float64 { return q.P99 }, func(q sample.Quantiles) float64 { return q.Max },
	} {
		r, size := [2]int64{}, int64(round(max(of(*s.Below), of(*s.Above), 1)))
		if s.Below.Max > 0 && q.Target.Relative == 0 { // what may be negative has no relative target
			r[0] = -size
		}
		if s.Above.Max > 0 || r[0] == 0 {
			r[1] = size
		}
		out = append(out, r)
	}
	return slices.Compact(out)
}

// candidates are the settings that are tried for a size of windows.
func (q *Question) candidates(w *sample.Windows, s *sample.Stats) (out []Setting) {
	lives := []int{q.Given.LastAtLeast}
	if q.Given.LastAtLeast == 0 {
		lives = []int{round(s.Active.P50), round(s.Active.P90), round(s.Active.Max), round(float64(w.Len())), 24}
		slices.Sort(lives)
		lives = slices.Compact(lives)
	}
	n, few := most, most
	switch {
	case w.Keys == 1:
		n = 3 * most // there is nothing else to vary
	case w.Values:
		n, few = 3, 3 // there are ranges, too
	}
	for _, l := range lives {
		for _, k := range values(q.Given.KeysPerUser, s.Keys, few) {
			for _, e := range values(q.Given.EventsPerKey, s.PerKey, n) {
				if float64(k)*float64(e)*float64(e)*float64(l) >= math.MaxInt32 {
					continue
				}
				for _, r := range q.ranges(s) {
					out = append(out, Setting{Window: w.Size, KeysPerUser: k, EventsPerKey: e, LastAtLeast: l, Epsilon: q.Given.Epsilon, Relative: q.Target.Relative, Min: r[0], Max: r[1]})
				}
			}
		}
	}
	return out
}
