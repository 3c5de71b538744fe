package sample

import (
	"slices"
	"time"
)

// Cell is what one user did with one key, with one value, in one window.
type Cell struct {
	User, Key uint32  // numbers from 0 on, of the sample
	Events    uint32  // 1 or more
	Value     float32 // of each of them; 0 where events have no values
}

// ByKey cuts the cells of one user and window after those of its first key.
func ByKey(cells []Cell) (first, rest []Cell) {
	n := 1
	for n < len(cells) && cells[n].Key == cells[0].Key {
		n++
	}
	return cells[:n], cells[n:]
}

// Windows are windows of one size, side by side, with what the users of a sample did in them.
// Read-only; safe for concurrent use.
type Windows struct {
	Size  time.Duration
	Start int64    // of the first window, Unix milliseconds
	Rate  float64  // the share of users that were kept: 1 for all
	Users int      // how many were kept: their numbers are below it
	Keys  int      // how many keys these users have: their numbers are below it
	Names []string // of the keys, where they are known
	// Values says that events have values.
	Values bool

	ends  []int // by window: the end of its cells
	cells []Cell
}

// NewWindows returns windows of a size, of which the first begins at start (Unix milliseconds).
// cells has those of each window, empty windows included.
func NewWindows(size time.Duration, start int64, rate float64, cells [][]Cell) *Windows {
	w := &Windows{Size: size, Start: start, Rate: rate}
	for _, of := range cells {
		from := len(w.cells)
		w.cells = append(w.cells, of...)
		for _, c := range of {
			w.Users, w.Keys = max(w.Users, int(c.User)+1), max(w.Keys, int(c.Key)+1)
			w.Values = w.Values || c.Value != 0
		}
		slices.SortFunc(w.cells[from:], order)
		w.ends = append(w.ends, len(w.cells))
	}
	return w
}

// Together returns the same windows with all events under one key, which has no name.
func (w *Windows) Together() *Windows {
	out := &Windows{Size: w.Size, Start: w.Start, Rate: w.Rate, Users: w.Users, Keys: 1, Names: []string{""}, Values: w.Values, ends: make([]int, len(w.ends))}
	for i := range w.ends {
		from := len(out.cells)
		for _, c := range w.At(i) {
			out.cells = append(out.cells, Cell{User: c.User, Events: c.Events, Value: c.Value})
		}
		out.cells = append(out.cells[:from], merged(out.cells[from:])...)
		out.ends[i] = len(out.cells)
	}
	return out
}

// Len returns how many windows there are, from the first that has an event to the last.
func (w *Windows) Len() int { return len(w.ends) }

// At returns the cells of a window, in the order of users and of their keys. Not to be changed.
func (w *Windows) At(window int) []Cell {
	from := 0
	if window > 0 {
		from = w.ends[window-1]
	}
	return w.cells[from:w.ends[window]]
}

// Thin returns the first users of a sample, at least one, who have at most so many cells, and with
// them what the sample says of all of them. It is the sample itself where that has no more.
func (s *Sample) Thin(cells int) *Sample {
	if len(s.cells) <= cells {
		return s
	}
	of := make([]int, s.Kept)
	for i := range s.cells {
		of[s.cells[i].User]++
	}
	users, sum := 0, 0
	for users < s.Kept && (users == 0 || sum+of[users] <= cells) {
		sum += of[users]
		users++
	}
	out := *s
	out.Kept, out.Rate = users, s.Rate*float64(users)/float64(s.Kept)
	out.cells = make([]stepCell, 0, sum)
	for _, c := range s.cells {
		if int(c.User) < users {
			out.cells = append(out.cells, c)
		}
	}
	return &out
}
