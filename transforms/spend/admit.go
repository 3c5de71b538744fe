package spend

import (
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
)

// decide admits users to the windows that end with a turn, and reserves the worst-case costs. The
// previous turn must have been charged.
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

// setDecided records that a turn has been decided. The turn is charged after it has been settled.
func (a *shardAccounts) setDecided(d *schemas.Delta, ended *endedWindows, r reservations) {
	ended.forgetUsers()
	a.turn, a.decided = d.Turn, &decision{d, ended, r}
}

// admission is the state of one pass over the users of a turn.
type admission struct {
	*shardAccounts
	ended        *endedWindows
	retention    retention
	reservations reservations
	tallies      []schemas.WindowTally
}

// admit admits a user to the windows that end, in admission order, and reserves the worst-case cost
// of the events that count. affordable.go decides how many events the account can pay for. A user
// without a counted event in a window pays nothing for it, and can be admitted to later windows.
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
		m, limit := &a.rules.metrics[w.Metric], a.spendable(place, &account, u, w)
		kept, tally, err := a.clip.clipWindow(m, a.ended, i, u, limit)
		if err != nil {
			return err
		}
		if len(kept) == 0 {
			a.tallies[i].Add(tally)
			continue
		}
		worst, ok := a.rules.price(m, kept, a.clip.extra, a.clip.leaves)
		if !ok || worst > limit {
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

// applyDelta makes the same reservations as decide, but from a delta in the ledger instead of
// events. It returns an error if it cannot make all of them, because an admission without a
// reservation would never be charged.
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
			return nil // the user has no contribution in this slice and no admission
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

// reserve makes the reservations for a user's admissions that the ledger contains.
func (a *shardAccounts) reserve(ended *endedWindows, u *member, admitted schemas.Bits, out *reservations) error {
	place, account := a.store.Find(u.ID, u.Period)
	from := len(out.list)
	a.clip.beginUser(len(ended.windows))
	for i, w := range ended.windows {
		if !admitted.Get(i) {
			continue
		}
		if u.byWindow[i] == nil {
			return errNothingKept
		}
		m, limit := &a.rules.metrics[w.Metric], a.spendable(place, &account, u, w)
		kept, tally, err := a.clip.clipWindow(m, ended, i, u, limit)
		switch {
		case err != nil:
			return err
		case len(kept) == 0:
			return errNothingKept
		}
		worst, ok := a.rules.price(m, kept, a.clip.extra, a.clip.leaves)
		if !ok || worst > limit {
			return errOverBudget
		}
		if err := account.Reserve(a.rules.Budget, worst); err != nil {
			return fmt.Errorf("%w: %w", errOverBudget, err)
		}
		a.clip.counted[i] = tally.Counted
		out.add(u, i, worst, a.clip)
	}
	if len(out.list) == from {
		return nil
	}
	return a.storeAccount(place, u, account, out, from)
}
