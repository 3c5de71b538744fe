package spend

import (
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
)

// decide assembles the windows that end with a turn, clips and admits their users and reserves
// their worst cases. The turn before it must have been charged.
func (a *shardAccounts) decide(turn uint64, windows []schemas.MetricWindow, slice *contributions,
	records uint64) (*schemas.Delta, error) {
	if err := a.follows(turn); err != nil {
		return nil, err
	}
	ended, err := a.assemble(turn, windows, slice)
	if err != nil {
		return nil, err
	}
	a.scratch.reset(len(slice.users))
	admitted := admission{shardAccounts: a, ended: ended, retention: a.newRetention(turn, ended),
		tallies: make([]schemas.WindowTally, len(windows)), reservations: a.charged.reused(len(slice.users))}
	a.charged = reservations{}
	if err := ended.members(admitted.admit); err != nil {
		return nil, err
	}
	for i, w := range windows {
		admitted.tallies[i].Filtered = ended.contributions[i].filtered[w.Metric]
	}
	d := &schemas.Delta{Turn: turn, Records: records, Windows: windows, Tallies: admitted.tallies,
		Filtered: slice.filtered, Users: a.scratch.users}
	d.Labels = compactLabels(slice.labels, d.Users)
	a.add(d, ended, admitted.reservations)
	return d, a.retainSlices(d)
}

func (a *shardAccounts) add(d *schemas.Delta, ended *endedWindows, r reservations) {
	ended.forgetUsers()
	a.turn, a.decided = d.Turn, &decision{d, ended, r}
}

// admission is the walk over a turn's users.
type admission struct {
	*shardAccounts
	ended        *endedWindows
	retention    retention
	reservations reservations
	tallies      []schemas.WindowTally
}

// admit decides about a user's contributions to every window that ends, in admission order: as many
// count as the account can reserve the worst case of. A user with no counted contribution in a
// window pays nothing for it; later windows are still tried.
func (a *admission) admit(u *member) error {
	place, account := a.store.Find(u.ID, u.Period)
	admitted := a.scratch.bitsFor(len(a.ended.windows))
	retained := a.retention.forUser(u.part)
	a.clip.begin(len(a.ended.windows))
	from := len(a.reservations.list)
	for i, w := range a.ended.windows {
		if u.byWindow[i] == nil {
			continue
		}
		m, left := &a.rules.metrics[w.Metric], a.left(place, &account, u, w)
		kept, tally, err := a.clip.window(m, a.ended, i, u, left)
		if err != nil {
			return err
		}
		if len(kept) == 0 {
			a.tallies[i].Add(tally)
			continue
		}
		worst, ok := a.rules.price(m, kept, a.clip.further, a.clip.leaves)
		if !ok || worst > left {
			tally.Beyond, tally.Counted = tally.Beyond+tally.Counted, 0
			a.tallies[i].Add(tally)
			continue
		}
		if err := account.Reserve(a.rules.Budget, worst); err != nil {
			return err
		}
		admitted.Set(i)
		a.clip.counted[i] = tally.Counted
		a.tallies[i].Add(tally)
		a.reservations.add(u, i, worst, a.clip)
		retained.mark(i)
	}
	slice, records := retained.retained(a.scratch)
	reserved := len(a.reservations.list) > from
	if reserved {
		if err := a.put(place, u, account, &a.reservations, from); err != nil {
			return err
		}
	}
	if reserved || len(slice) > 0 {
		a.scratch.users = append(a.scratch.users, schemas.DeltaUser{
			ContribUser: schemas.ContribUser{ID: u.ID, Period: u.Period, Entries: slice, Records: records},
			Admitted:    admitted})
	}
	return nil
}

// applyDelta makes the reservations of a delta from the ledger, as decide does, for the windows
// that end with the turn. It is an error if it cannot reserve all of them: without its reservation,
// an admission would never be charged.
func (a *shardAccounts) applyDelta(d *schemas.Delta, windows []schemas.MetricWindow) error {
	if err := a.follows(d.Turn); err != nil {
		return err
	}
	if !slices.Equal(d.Windows, windows) {
		return errOtherWindows
	}
	slice := &contributions{labels: d.Labels, filtered: d.Filtered, users: make([]schemas.ContribUser, len(d.Users))}
	for i := range d.Users {
		slice.users[i] = d.Users[i].ContribUser
		if i > 0 && schemas.CompareUsers(&slice.users[i-1], &slice.users[i]) >= 0 {
			return errUserMissed
		}
	}
	slice.index()
	ended, err := a.assemble(d.Turn, d.Windows, slice)
	if err != nil {
		return err
	}
	var reserved reservations
	next := 0
	err = ended.members(func(u *member) error {
		if next == len(d.Users) || d.Users[next].ID != u.ID || d.Users[next].Period != u.Period {
			return nil // no contribution in this slice, and no admission
		}
		decided := &d.Users[next]
		next++
		return a.reserve(ended, u, decided.Admitted, &reserved)
	})
	if err != nil {
		return err
	}
	if next != len(d.Users) {
		return errUserMissed
	}
	a.add(d, ended, reserved)
	return a.retainSlices(d)
}

// reserve makes the reservations for a user's admissions, as the ledger has them.
func (a *shardAccounts) reserve(ended *endedWindows, u *member, admitted schemas.Bits, to *reservations) error {
	place, account := a.store.Find(u.ID, u.Period)
	from := len(to.list)
	a.clip.begin(len(ended.windows))
	for i, w := range ended.windows {
		if !admitted.Get(i) {
			continue
		}
		if u.byWindow[i] == nil {
			return errNothingKept
		}
		m, left := &a.rules.metrics[w.Metric], a.left(place, &account, u, w)
		kept, tally, err := a.clip.window(m, ended, i, u, left)
		switch {
		case err != nil:
			return err
		case len(kept) == 0:
			return errNothingKept
		}
		worst, ok := a.rules.price(m, kept, a.clip.further, a.clip.leaves)
		if !ok || worst > left {
			return errOverBudget
		}
		if err := account.Reserve(a.rules.Budget, worst); err != nil {
			return fmt.Errorf("%w: %w", errOverBudget, err)
		}
		a.clip.counted[i] = tally.Counted
		to.add(u, i, worst, a.clip)
	}
	if len(to.list) == from {
		return nil
	}
	return a.put(place, u, account, to, from)
}

// retention selects the part of a turn's slice that must be kept: for users admitted to a window of
// a metric, all their contributions to the metric until they are charged, because a restore
// recomputes the counted ones; and all contributions to windows that are still open.
type retention struct {
	taken [][]bool // by window: the slice's labels that belong to its metric
	sums  []bool   // by window: its metric needs records one by one
	// labels of the slice that belong to an open window, and to one that needs records
	open, openSums []bool

	user    *schemas.ContribUser
	entries []bool // by entry of the user
	records []bool // by entry: with its records
}

func (a *shardAccounts) newRetention(turn uint64, ended *endedWindows) retention {
	slice := ended.slice
	n := retention{open: make([]bool, len(slice.labels)), openSums: make([]bool, len(slice.labels))}
	for i, w := range ended.windows {
		m, taken := &a.rules.metrics[w.Metric], ended.taken[i]
		if ended.contributions[i] != slice {
			taken = slice.taken(m)
		}
		n.taken, n.sums = append(n.taken, taken), append(n.sums, m.valued)
	}
	for i := range a.rules.metrics {
		m := &a.rules.metrics[i]
		if !a.windows.Open(uint32(i), turn) {
			continue
		}
		for l, taken := range slice.taken(m) {
			n.open[l] = n.open[l] || taken
			n.openSums[l] = n.openSums[l] || taken && m.valued
		}
	}
	return n
}

// forUser starts a user's part of the slice, which may be nil.
func (n *retention) forUser(u *schemas.ContribUser) *retention {
	n.user, n.entries, n.records = u, n.entries[:0], n.records[:0]
	if u == nil {
		return n
	}
	for _, e := range u.Entries {
		n.entries = append(n.entries, n.open[e.Key])
		n.records = append(n.records, n.openSums[e.Key])
	}
	return n
}

// mark notes the entries and records that an admission to a window depends on.
func (n *retention) mark(window int) {
	if n.user == nil {
		return
	}
	taken := n.taken[window]
	for i, e := range n.user.Entries {
		if taken[e.Key] {
			n.entries[i] = true
			n.records[i] = n.records[i] || n.sums[window]
		}
	}
}

// retained returns the part of the user's slice that must be kept.
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

// compactLabels keeps the labels that some user's slice names and renumbers them.
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
