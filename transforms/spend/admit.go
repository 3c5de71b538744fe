package spend

import (
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
)

// decide forms the windows that end with a turn, clips and admits their users
// and holds their worst cases, beside those of the turns before it in its joint,
// which begins with first. Every turn before the joint must have been charged.
func (b *book) decide(first, turn uint64, pairs []schemas.Pair, own *crowd, records uint64) (*schemas.Delta, error) {
	if !b.follows(first, turn) {
		return nil, fmt.Errorf("deciding turn %d of a joint from turn %d where turns %d to %d are decided: out of order", turn, first, b.first(), b.turn)
	}
	f, err := b.form(turn, pairs, own)
	if err != nil {
		return nil, err
	}
	a := admission{book: b, formed: f, need: b.needOf(turn, f), tallies: make([]schemas.PairTally, len(pairs))}
	if err := f.members(a.admit); err != nil {
		return nil, err
	}
	for i, p := range pairs {
		a.tallies[i].Filtered = f.crowds[i].filtered[p.Metric]
	}
	d := &schemas.Delta{Turn: turn, Records: records, Pairs: pairs, Tallies: a.tallies, Filtered: own.filtered, Users: a.users}
	d.Labels = compactLabels(own.labels, d.Users)
	b.add(d, f, a.stakes)
	return d, b.keep(d)
}

func (b *book) add(d *schemas.Delta, f *formed, stakes []stake) {
	b.turn, b.decided = d.Turn, append(b.decided, decision{d, f, stakes})
}

// admission is the walk over a turn's users.
type admission struct {
	*book
	formed  *formed
	need    need
	users   []schemas.DeltaUser
	stakes  []stake
	tallies []schemas.PairTally
}

// admit walks the pairs in admission order. A pair that does not fit is
// skipped, costs nothing, and the walk goes on.
func (a *admission) admit(u *member) error {
	account, _ := a.accounts.Get(u.ID, u.Period)
	admitted := schemas.NewBits(len(a.formed.pairs))
	own := a.need.begin(u.own)
	some := false
	for i, p := range a.formed.pairs {
		if u.of[i] == nil {
			continue
		}
		m := &a.rules.metrics[p.Metric]
		kept, counted, clipped, err := a.clip.keep(m, a.formed.crowds[i], a.formed.taken[i], u.of[i])
		if err != nil {
			return err
		}
		tally := &a.tallies[i]
		tally.Clipped += clipped
		if len(kept) == 0 {
			continue
		}
		worst, delta, ok := a.rules.price(m, kept)
		if !ok || !account.Fits(a.rules.Budget, worst, delta) {
			tally.OverBudget += counted
			continue
		}
		if err := account.Hold(a.rules.Budget, worst, delta); err != nil {
			return err
		}
		some = true
		admitted.Set(i)
		tally.Counted += counted
		a.stakes = append(a.stakes, stake{u.ID, u.Period, i, worst, a.arena.clone(kept)})
		own.mark(i, m, kept)
	}
	slice, records := own.rest()
	if some {
		if err := a.put(u.ID, u.Period, account); err != nil {
			return err
		}
	}
	if some || len(slice) > 0 {
		a.users = append(a.users, schemas.DeltaUser{ID: u.ID, Period: u.Period, Slice: slice, Records: records, Admitted: admitted})
	}
	return nil
}

// obey holds what a delta from the ledger or from keyed state decided, as decide
// does, for the pairs that end with the turn: all of it, or it is an error. A hold
// that was left out would be a charge that is never made.
func (b *book) obey(first uint64, d *schemas.Delta, pairs []schemas.Pair) error {
	switch {
	case !b.follows(first, d.Turn):
		return fmt.Errorf("obeying turn %d of a joint from turn %d where turns %d to %d are decided: out of order", d.Turn, first, b.first(), b.turn)
	case !slices.Equal(d.Pairs, pairs):
		return errOtherPairs
	}
	own := &crowd{labels: d.Labels, filtered: d.Filtered, users: make([]schemas.ContribUser, len(d.Users))}
	for i := range d.Users {
		u := &d.Users[i]
		own.users[i] = schemas.ContribUser{ID: u.ID, Period: u.Period, Entries: u.Slice, Records: u.Records}
		if i > 0 && schemas.CompareUsers(&own.users[i-1], &own.users[i]) >= 0 {
			return errUserMissed
		}
	}
	own.index()
	f, err := b.form(d.Turn, d.Pairs, own)
	if err != nil {
		return err
	}
	var stakes []stake
	next := 0
	err = f.members(func(u *member) error {
		if next == len(d.Users) || d.Users[next].ID != u.ID || d.Users[next].Period != u.Period {
			return nil // nothing in this slice, and admitted to nothing
		}
		decided := &d.Users[next]
		next++
		stakes, err = b.hold(f, u, decided.Admitted, stakes)
		return err
	})
	if err != nil {
		return err
	}
	if next != len(d.Users) {
		return errUserMissed
	}
	b.add(d, f, stakes)
	return b.keep(d)
}

// hold takes a user's admissions as they are, and holds for them.
func (b *book) hold(f *formed, u *member, admitted schemas.Bits, stakes []stake) ([]stake, error) {
	account, _ := b.accounts.Get(u.ID, u.Period)
	some := false
	for i, p := range f.pairs {
		if !admitted.Get(i) {
			continue
		}
		if u.of[i] == nil {
			return nil, errNothingKept
		}
		m := &b.rules.metrics[p.Metric]
		kept, _, _, err := b.clip.keep(m, f.crowds[i], f.taken[i], u.of[i])
		switch {
		case err != nil:
			return nil, err
		case len(kept) == 0:
			return nil, errNothingKept
		}
		worst, delta, ok := b.rules.price(m, kept)
		if !ok {
			return nil, errOverBudget
		}
		if err := account.Hold(b.rules.Budget, worst, delta); err != nil {
			return nil, fmt.Errorf("%w: %w", errOverBudget, err)
		}
		some = true
		stakes = append(stakes, stake{u.ID, u.Period, i, worst, b.arena.clone(kept)})
	}
	if !some {
		return stakes, nil
	}
	return stakes, b.put(u.ID, u.Period, account)
}

// need says what of a turn's slice must be remembered: what the admitted
// brought, until it is charged, and all that a window takes which is still open.
type need struct {
	formed *formed
	toOwn  [][]int32 // by pair: the place of its crowd's keys among the slice's own; −1 none
	open   []bool    // by label of the slice: an open window takes it
	sums   []bool    // by label: an open window takes its records one by one

	user    *schemas.ContribUser
	entries []bool // by entry of the user
	records []bool // by entry: with its records
}

func (b *book) needOf(turn uint64, f *formed) need {
	n := need{formed: f, toOwn: make([][]int32, len(f.pairs)), open: make([]bool, len(f.own.labels)), sums: make([]bool, len(f.own.labels))}
	for i, c := range f.crowds {
		if c == f.own {
			continue
		}
		n.toOwn[i] = make([]int32, len(c.keys))
		for k, key := range c.keys {
			n.toOwn[i][k] = -1
			if at, found := slices.BinarySearchFunc(f.own.keys, key, slices.Compare[[]byte]); found {
				n.toOwn[i][k] = int32(at)
			}
		}
	}
	for i := range b.rules.metrics {
		m := &b.rules.metrics[i]
		if !b.windows.Open(uint32(i), turn) {
			continue
		}
		for l, label := range f.own.labels {
			if m.takes(label) {
				n.open[l] = true
				n.sums[l] = n.sums[l] || m.kind.Values
			}
		}
	}
	return n
}

// begin turns to a user's part of the slice, which may be nil.
func (n *need) begin(u *schemas.ContribUser) *need {
	n.user, n.entries, n.records = u, n.entries[:0], n.records[:0]
	if u == nil {
		return n
	}
	for _, e := range u.Entries {
		n.entries = append(n.entries, n.open[e.Key])
		n.records = append(n.records, n.sums[e.Key])
	}
	return n
}

// mark notes what an admission rests on. The user's entries and what was kept are
// both in order of keys, so that one pass over the two is enough however many keys
// a user has.
func (n *need) mark(pair int, m *metric, kept []kept) {
	if n.user == nil {
		return
	}
	own, to := n.formed.own, n.toOwn[pair]
	for i, e := range n.user.Entries {
		if !m.takes(own.labels[e.Key]) {
			continue
		}
		key := int64(own.keyOf[e.Key])
		for len(kept) > 0 && ownPlace(to, kept[0].key) < key {
			kept = kept[1:]
		}
		if len(kept) > 0 && ownPlace(to, kept[0].key) == key {
			n.entries[i] = true
			n.records[i] = n.records[i] || m.kind.Values
		}
	}
}

// ownPlace is a key's place among the slice's own, −1 for none; to is nil where
// the crowd is the slice's own.
func ownPlace(to []int32, key uint32) int64 {
	if to == nil {
		return int64(key)
	}
	return int64(to[key])
}

// rest is what remains of the user's part of the slice.
func (n *need) rest() ([]schemas.KeyCount, []schemas.RecordValue) {
	if n.user == nil {
		return nil, nil
	}
	var slice []schemas.KeyCount
	var records []schemas.RecordValue
	at := 0
	for i, e := range n.user.Entries {
		if n.entries[i] {
			slice = append(slice, e)
		}
		for ; at < len(n.user.Records) && n.user.Records[at].Key <= e.Key; at++ {
			if n.records[i] && n.user.Records[at].Key == e.Key {
				records = append(records, n.user.Records[at])
			}
		}
	}
	return slice, records
}

// compactLabels keeps the labels that some user's slice names and renumbers
// them.
func compactLabels(labels []schemas.Label, users []schemas.DeltaUser) []schemas.Label {
	used := make([]bool, len(labels))
	for i := range users {
		for _, e := range users[i].Slice {
			used[e.Key] = true
		}
	}
	place := make([]uint32, len(labels))
	var kept []schemas.Label
	for i, l := range labels {
		if used[i] {
			place[i] = uint32(len(kept))
			kept = append(kept, l)
		}
	}
	for i := range users {
		for j := range users[i].Slice {
			users[i].Slice[j].Key = place[users[i].Slice[j].Key]
		}
		for j := range users[i].Records {
			users[i].Records[j].Key = place[users[i].Records[j].Key]
		}
	}
	return kept
}
