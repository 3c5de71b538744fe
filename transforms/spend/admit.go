package spend

import (
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
)

// decide admits the users of the windows that end with a turn and reserves their worst-case costs.
// The previous turn must be charged.
func (a *shardAccounts) decide(turn uint64, windows []schemas.MetricWindow, slice *contributions,
	records uint64) (*schemas.Delta, error) {
	if err := a.checkNext(turn); err != nil {
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
	if err := ended.eachMember(admitted.admit); err != nil {
		return nil, err
	}
	for i, w := range windows {
		admitted.tallies[i].Filtered = ended.contributions[i].filtered[w.Metric]
	}
	d := &schemas.Delta{Turn: turn, Records: records, Windows: windows, Tallies: admitted.tallies,
		Filtered: slice.filtered, Users: a.scratch.users}
	d.Labels = compactLabels(slice.labels, d.Users)
	a.setDecided(d, ended, admitted.reservations)
	return d, a.retainSlices(d)
}

// setDecided records a turn as decided, to be charged once it is settled.
func (a *shardAccounts) setDecided(d *schemas.Delta, ended *endedWindows, r reservations) {
	ended.forgetUsers()
	a.turn, a.decided = d.Turn, &decision{d, ended, r}
}

// admission is the state of a pass over a turn's users.
type admission struct {
	*shardAccounts
	ended        *endedWindows
	retention    retention
	reservations reservations
	tallies      []schemas.WindowTally
}

// admit decides how many of a user's events count in each window that ends, in admission order, and
// reserves their worst-case cost. A user without a counted event in a window pays nothing for it,
// and can still be admitted to later ones.
func (a *admission) admit(u *member) error {
	place, account := a.store.Find(u.ID, u.Period)
	admitted := a.scratch.bitsFor(len(a.ended.windows))
	retained := a.retention.forUser(u.part)
	a.clip.beginUser(len(a.ended.windows))
	from := len(a.reservations.list)
	for i, w := range a.ended.windows {
		if u.byWindow[i] == nil {
			continue
		}
		m, left := &a.rules.metrics[w.Metric], a.left(place, &account, u, w)
		kept, tally, err := a.clip.clipWindow(m, a.ended, i, u, left)
		if err != nil {
			return err
		}
		if len(kept) == 0 {
			a.tallies[i].Add(tally)
			continue
		}
		worst, ok := a.rules.price(m, kept, a.clip.extra, a.clip.leaves)
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
		if err := a.storeAccount(place, u, account, &a.reservations, from); err != nil {
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

// applyDelta makes the same reservations as decide, from a delta in the ledger instead of events.
// It fails if it cannot make all: an admission without a reservation is never charged.
func (a *shardAccounts) applyDelta(d *schemas.Delta, windows []schemas.MetricWindow) error {
	if err := a.checkNext(d.Turn); err != nil {
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
	err = ended.eachMember(func(u *member) error {
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
	a.setDecided(d, ended, reserved)
	return a.retainSlices(d)
}

// reserve makes the reservations for a user's admissions in the ledger.
func (a *shardAccounts) reserve(ended *endedWindows, u *member, admitted schemas.Bits, to *reservations) error {
	place, account := a.store.Find(u.ID, u.Period)
	from := len(to.list)
	a.clip.beginUser(len(ended.windows))
	for i, w := range ended.windows {
		if !admitted.Get(i) {
			continue
		}
		if u.byWindow[i] == nil {
			return errNothingKept
		}
		m, left := &a.rules.metrics[w.Metric], a.left(place, &account, u, w)
		kept, tally, err := a.clip.clipWindow(m, ended, i, u, left)
		switch {
		case err != nil:
			return err
		case len(kept) == 0:
			return errNothingKept
		}
		worst, ok := a.rules.price(m, kept, a.clip.extra, a.clip.leaves)
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
	return a.storeAccount(place, u, account, to, from)
}
