package spend

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
)

// retention selects the part of a turn's slice that the delta retains. It retains all contributions
// to open windows. If a metric admits a user to a window, it also retains all contributions of the
// user to that metric: a restore needs them to recompute which contributions count.
type retention struct {
	matches [][]bool // by window: labels of the slice that the window's metric counts
	valued  []bool   // by window: whether the window's metric needs individual records
	open    []bool   // by label of the slice: whether an open window contains its events
	// openValued is like open, but only for windows that need individual records.
	openValued []bool

	user    *schemas.ContribUser
	entries []bool // by entry of the user: whether it is retained
	records []bool // by entry of the user: whether its records are retained
}

func (a *shardAccounts) newRetention(turn uint64, ended *endedWindows) retention {
	slice := ended.slice
	n := retention{open: make([]bool, len(slice.labels)), openValued: make([]bool, len(slice.labels))}
	for i, w := range ended.windows {
		m, matches := &a.rules.metrics[w.Metric], ended.matches[i]
		if ended.contributions[i] != slice {
			matches = slice.matches(m)
		}
		n.matches, n.valued = append(n.matches, matches), append(n.valued, m.valued)
	}
	for i := range a.rules.metrics {
		m := &a.rules.metrics[i]
		if !a.windows.Open(uint32(i), turn) {
			continue
		}
		for l, matching := range slice.matches(m) {
			n.open[l] = n.open[l] || matching
			n.openValued[l] = n.openValued[l] || matching && m.valued
		}
	}
	return n
}

// forUser starts a new user. u is the user's part of the slice, or nil.
func (n *retention) forUser(u *schemas.ContribUser) *retention {
	n.user, n.entries, n.records = u, n.entries[:0], n.records[:0]
	if u == nil {
		return n
	}
	for _, e := range u.Entries {
		n.entries = append(n.entries, n.open[e.Key])
		n.records = append(n.records, n.openValued[e.Key])
	}
	return n
}

// mark marks the user's entries and records on which an admission to a window depends.
func (n *retention) mark(window int) {
	if n.user == nil {
		return
	}
	matches := n.matches[window]
	for i, e := range n.user.Entries {
		if matches[e.Key] {
			n.entries[i] = true
			n.records[i] = n.records[i] || n.valued[window]
		}
	}
}

// retained returns the marked part of the user's slice.
func (n *retention) retained(s *scratch) ([]schemas.KeyCount, []schemas.RecordValue) {
	if n.user == nil {
		return nil, nil
	}
	entries, records, next := len(s.entries), len(s.records), 0
	for i, e := range n.user.Entries {
		if n.entries[i] {
			s.entries = append(s.entries, e)
		}
		for ; next < len(n.user.Records) && n.user.Records[next].Key <= e.Key; next++ {
			if n.records[i] && n.user.Records[next].Key == e.Key {
				s.records = append(s.records, n.user.Records[next])
			}
		}
	}
	return s.entries[entries:len(s.entries):len(s.entries)], s.records[records:len(s.records):len(s.records)]
}

// compactLabels returns the labels that the users' slices use, and renumbers the slices.
func compactLabels(labels []schemas.Label, users []schemas.DeltaUser) []schemas.Label {
	used := make([]bool, len(labels))
	for i := range users {
		for _, e := range users[i].Entries {
			used[e.Key] = true
		}
	}
	renumbered := make([]uint32, len(labels))
	var kept []schemas.Label
	for i, l := range labels {
		if used[i] {
			renumbered[i] = uint32(len(kept))
			kept = append(kept, l)
		}
	}
	for i := range users {
		for j := range users[i].Entries {
			users[i].Entries[j].Key = renumbered[users[i].Entries[j].Key]
		}
		for j := range users[i].Records {
			users[i].Records[j].Key = renumbered[users[i].Records[j].Key]
		}
	}
	return kept
}

// retainSlices keeps the decided turn's slice for open windows. It drops slices that none needs.
func (a *shardAccounts) retainSlices(d *schemas.Delta) error {
	needed := a.windows.Needed(d.Turn)
	remaining := a.open[:0]
	for _, s := range a.open {
		if s.turn >= needed {
			remaining = append(remaining, s)
		}
	}
	clear(a.open[len(remaining):])
	a.open = remaining
	if d.Turn < needed {
		return nil
	}
	o := schemas.OpenSlice{Turn: d.Turn, Filtered: d.Filtered, Labels: d.Labels}
	for i := range d.Users {
		if u := &d.Users[i]; len(u.Entries) > 0 {
			o.Users = append(o.Users, u.ContribUser)
		}
	}
	data, err := schemas.EncodeOpenSlice(o)
	if err != nil {
		return fmt.Errorf("keeping the slice of turn %d: %w", d.Turn, err)
	}
	a.open = append(a.open, openSlice{d.Turn, data})
	return nil
}
