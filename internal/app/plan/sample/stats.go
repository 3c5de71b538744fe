package sample

import (
	"math"
	"slices"
)

// Quantiles of a number that users or windows have. Zero where there are none.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P75 float64 `json:"p75"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Stats are what users do in windows of one size.
type Stats struct {
	Windows  int       `json:"windows"`
	PerUser  Quantiles `json:"events_per_user"`     // and window
	Keys     Quantiles `json:"keys_per_user"`       // and window
	PerKey   Quantiles `json:"events_per_user_key"` // and window
	Active   Quantiles `json:"windows_per_user"`    // in which the user has an event
	InWindow Quantiles `json:"users_per_window"`    // of all users
	Counts   Quantiles `json:"events_per_key"`      // and window, of all users
	// Above and Below are how far values of events go to either side of 0; nil without values.
	Above *Quantiles `json:"values_above_0,omitempty"`
	Below *Quantiles `json:"values_below_0,omitempty"`
	// Spread is where values lie; nil without values.
	Spread *Spread `json:"values,omitempty"`
}

// Spread are quantiles of values of events, from the least to the greatest.
type Spread struct {
	Min float64 `json:"min"`
	P1  float64 `json:"p1"`
	P5  float64 `json:"p5"`
	P10 float64 `json:"p10"`
	P25 float64 `json:"p25"`
	P50 float64 `json:"p50"`
	P75 float64 `json:"p75"`
	P90 float64 `json:"p90"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Stats looks at all cells once.
func (w *Windows) Stats() Stats {
	var perUser, keys, perKey, inWindow, counts, above, below, signed histogram
	active := make([]uint32, w.Users)
	ofKey := map[uint32]float64{}
	for i := range w.Len() {
		clear(ofKey)
		cells, users := w.At(i), 0
		for from := 0; from < len(cells); {
			end := from
			for ; end < len(cells) && cells[end].User == cells[from].User; end++ {
				if w.Values {
					v, n := float64(cells[end].Value), int(cells[end].Events)
					above.addN(max(v, 0), n)
					below.addN(max(-v, 0), n)
					signed.addN(v, n)
				}
			}
			events, different := 0.0, 0
			for rest := cells[from:end]; len(rest) > 0; different++ {
				var of []Cell
				of, rest = ByKey(rest)
				n := 0.0
				for _, c := range of {
					n += float64(c.Events)
				}
				events += n
				perKey.add(n)
				ofKey[of[0].Key] += n / w.Rate
			}
			perUser.add(events)
			keys.add(float64(different))
			active[cells[from].User]++
			users++
			from = end
		}
		inWindow.add(math.Round(float64(users) / w.Rate))
		for _, n := range ofKey {
			counts.add(math.Round(n))
		}
	}
	var windows histogram
	for _, n := range active {
		if n > 0 {
			windows.add(float64(n))
		}
	}
	s := Stats{Windows: w.Len(), PerUser: perUser.quantiles(), Keys: keys.quantiles(), PerKey: perKey.quantiles(), Active: windows.quantiles(),
		InWindow: inWindow.quantiles(), Counts: counts.quantiles()}
	if w.Values {
		a, b := above.quantiles(), below.quantiles()
		s.Above, s.Below = &a, &b
		at := signed.quantile()
		s.Spread = &Spread{at(0), at(.01), at(.05), at(.1), at(.25), at(.5), at(.75), at(.9), at(.95), at(.99), at(1)}
	}
	return s
}

// Largest returns the keys with the most events over all windows, or bySize with the greatest sums
// of sizes of values, at most n of them, the largest first.
func (w *Windows) Largest(n int, bySize bool) []uint32 {
	total := make([]float64, w.Keys)
	for i := range w.Len() {
		for _, c := range w.At(i) {
			if bySize {
				total[c.Key] += float64(c.Events) * math.Abs(float64(c.Value))
			} else {
				total[c.Key] += float64(c.Events)
			}
		}
	}
	keys := make([]uint32, 0, w.Keys)
	for k, t := range total {
		if t > 0 {
			keys = append(keys, uint32(k))
		}
	}
	slices.SortStableFunc(keys, func(a, b uint32) int {
		switch {
		case total[a] > total[b]:
			return -1
		case total[a] < total[b]:
			return 1
		}
		return 0
	})
	return keys[:min(n, len(keys))]
}

// histogram counts how often a number comes.
type histogram map[float64]int

func (h *histogram) add(v float64) { h.addN(v, 1) }

func (h *histogram) addN(v float64, n int) {
	if *h == nil {
		*h = histogram{}
	}
	(*h)[v] += n
}

func (h histogram) quantiles() Quantiles {
	at := h.quantile()
	return Quantiles{at(.5), at(.75), at(.9), at(.99), at(1)}
}

// quantile returns what gives the least value that a share of q does not exceed; 0 of nothing.
func (h histogram) quantile() func(q float64) float64 {
	values, all := make([]float64, 0, len(h)), 0
	for v, n := range h {
		values = append(values, v)
		all += n
	}
	slices.Sort(values)
	return func(q float64) float64 {
		sum := 0
		for _, v := range values {
			if sum += h[v]; float64(sum) >= q*float64(all) {
				return v
			}
		}
		return 0
	}
}
