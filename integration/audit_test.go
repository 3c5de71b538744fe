package integration

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/testing/reference"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// accounts charges what ledger and control say, turn by turn, and checks at every turn that no
// user's spent and reserved amounts exceed the budget, and at every snapshot that it says the same.
func (d *deployment) accounts(tr trusted) (map[reference.Owner]reference.Account, error) {
	all := map[reference.Owner]reference.Account{}
	config := d.referenceConfig()
	for shard, l := range tr.ledgers {
		a := auditor{tr: tr, header: tr.headers[len(tr.headers)-1], config: config, ends: config.TurnEnds(tr.last), hasher: schemas.NewHasher(d.config.Keys.UserHash.Reveal()),
			accounts: map[reference.Owner]reference.Account{}, slices: map[uint64]map[reference.Owner]slice{},
			reserved: map[reference.Owner]*big.Int{}, due: map[reference.Owner]*big.Int{}}
		if err := a.audit(l, shard, d.config.Shards); err != nil {
			return nil, fmt.Errorf("auditing shard %d: %w", shard, err)
		}
		maps.Copy(all, a.accounts)
	}
	return all, nil
}

// slice is what one individual contributed to the slice of one turn.
type slice struct {
	events []labelled // one an event
	values []labelled // the same ones with their values, where there are sums
}

type labelled struct {
	visit  reference.Visit
	passes uint64
}

// auditor follows the accounts of one shard. It assembles windows from the slices of the deltas and
// knows no event.
type auditor struct {
	tr       trusted
	header   schemas.Header
	config   reference.Config
	ends     []int64 // of the turns
	hasher   *schemas.Hasher
	accounts map[reference.Owner]reference.Account
	slices   map[uint64]map[reference.Owner]slice
	// reserved and due are the worst cases and the charges of the span's turns so far.
	reserved, due map[reference.Owner]*big.Int
}

func (a *auditor) audit(l ledger, shard, shards int) error {
	first, err := a.begin(l)
	if err != nil {
		return err
	}
	for turn := first; turn <= a.tr.last; turn++ {
		delta := l.deltas[turn]
		a.slices[turn] = map[reference.Owner]slice{}
		for _, user := range delta.Users {
			if got := schemas.ShardOf(user.ID, shards); got != shard {
				return fmt.Errorf("turn %d: a user of shard %d stands in shard %d", turn, got, shard)
			}
			a.slices[turn][reference.Owner{ID: user.ID, Period: user.Period}] = sliceOf(delta.Labels, user.Entries, user.Records)
			if err := a.reserve(turn, delta, user); err != nil {
				return fmt.Errorf("turn %d: %w", turn, err)
			}
		}
		if a.tr.closes[turn].Turn == turn { // the last one of its span
			a.charge()
		}
		if err := a.compare(l.snapshots[turn], turn); err != nil {
			return err
		}
	}
	return nil
}

func sliceOf(labels []schemas.Label, entries []schemas.KeyCount, records []schemas.RecordValue) slice {
	var s slice
	for _, e := range entries {
		l := labelled{reference.Visit{Key: string(labels[e.Key].Key)}, labels[e.Key].Passes}
		s.events = append(s.events, slices.Repeat([]labelled{l}, int(e.N))...)
	}
	for _, r := range records {
		l := labelled{reference.Visit{Key: string(labels[r.Key].Key), Value: r.Value, Record: r.ID}, labels[r.Key].Passes}
		s.values = append(s.values, slices.Repeat([]labelled{l}, int(r.N))...)
	}
	return s
}

// begin finds the first turn to charge: turn 1, or where compaction took a delta whose slot was
// used again, the turn after the earliest snapshot that holds it.
func (a *auditor) begin(l ledger) (uint64, error) {
	lost := a.header.FromTurn - 1 // what was before the last change is in snapshots
	for turn := lost + 1; turn <= a.tr.last; turn++ {
		if _, ok := l.deltas[turn]; !ok {
			lost = turn
		}
	}
	if lost == 0 {
		return 1, nil
	}
	for turn := lost; turn <= max(a.tr.last, lost); turn++ {
		base, ok := l.snapshots[turn]
		if !ok {
			continue
		}
		return turn + 1, a.restore(base)
	}
	return 0, fmt.Errorf("turn %d is settled, and neither its delta nor a snapshot is there", lost)
}

func (a *auditor) restore(s schemas.Snapshot) error {
	for _, e := range s.Accounts {
		a.accounts[reference.Owner{ID: e.ID, Period: e.Period}] = reference.Account{Spent: bigOf(uint64(e.Account.Spent)), Keys: e.Account.Keys.Big()}
	}
	for _, encoded := range s.Open {
		open, err := schemas.DecodeOpenSlice(encoded)
		if err != nil {
			return fmt.Errorf("the snapshot of turn %d: %w", s.Turn, err)
		}
		a.slices[open.Turn] = map[reference.Owner]slice{}
		for _, user := range open.Users {
			a.slices[open.Turn][reference.Owner{ID: user.ID, Period: user.Period}] = sliceOf(open.Labels, user.Entries, user.Records)
		}
	}
	return nil
}

// compare compares a snapshot, where there is one, with the accounts as of its turn: without those
// of a period that no window can charge any more.
func (a *auditor) compare(s schemas.Snapshot, turn uint64) error {
	if s.Turn != turn {
		return nil
	}
	there := map[reference.Owner]bool{}
	for _, e := range s.Accounts {
		owner := reference.Owner{ID: e.ID, Period: e.Period}
		there[owner] = true
		if a.config.PeriodIsOver(e.Period, a.ends[turn-1]) {
			return fmt.Errorf("the snapshot of turn %d keeps an account of period %d, which is over", turn, e.Period)
		}
		account, ok := a.accounts[owner]
		if !ok || account.Spent.Cmp(bigOf(uint64(e.Account.Spent))) != 0 || account.Keys.Cmp(e.Account.Keys.Big()) != 0 {
			return fmt.Errorf("the snapshot of turn %d has another amount in an account", turn)
		}
	}
	for owner := range a.accounts {
		if !there[owner] && !a.config.PeriodIsOver(owner.Period, a.ends[turn-1]) {
			return fmt.Errorf("the snapshot of turn %d lacks an account of period %d", turn, owner.Period)
		}
	}
	return nil
}

// brings returns what an individual contributes to a window, from the slices that lie in it.
func (a *auditor) brings(turn uint64, window schemas.MetricWindow, owner reference.Owner) reference.Contribution {
	spec := a.config.Metrics[window.Metric]
	return reference.Contribute(a.hasher, spec, a.config.ComponentsOf(int(window.Metric)), owner, a.visits(turn, window, spec, owner))
}

// shares returns what an individual contributes to a window of a share, given the decisions about
// the windows before it.
func (a *auditor) shares(turn uint64, delta schemas.Delta, window schemas.MetricWindow, user schemas.DeltaUser) reference.Contribution {
	share, owner := a.config.Metrics[window.Metric], reference.Owner{ID: user.ID, Period: user.Period}
	of := window
	of.Metric = uint32(slices.IndexFunc(a.config.Metrics, func(m schemas.MetricSpec) bool { return m.Name == share.Of }))
	in := uint64(0)
	if user.Admitted.Get(slices.Index(delta.Windows, of)) {
		in = a.brings(turn, of, owner).Kept
	}
	base := a.config.Metrics[of.Metric]
	base.Kind = "events" // every event, whatever its value
	all := uint64(len(a.visits(turn, of, base, owner)))
	return reference.Contribution{Counts: reference.Divide(all, in, min(all, uint64(share.MaxEventsPerKey)))}
}

// visits returns an individual's events of a metric in a window.
func (a *auditor) visits(turn uint64, window schemas.MetricWindow, spec schemas.MetricSpec, owner reference.Owner) []reference.Visit {
	bit := slices.Index(a.config.Format.Filters, spec.Filter)
	var visits []reference.Visit
	for t := turn; t > 0 && a.ends[t-1] > window.WindowStart; t-- {
		list := a.slices[t][owner].events
		if metrickind.Of(spec.Kind).Values {
			list = a.slices[t][owner].values
		}
		for _, l := range list {
			if (spec.Filter == "" || l.passes>>bit&1 == 1) && reference.Takes(spec, l.visit.Key) {
				visits = append(visits, l.visit)
			}
		}
	}
	return visits
}

// reserve reserves the worst case of a turn beside those of the turns before it in its span.
func (a *auditor) reserve(turn uint64, delta schemas.Delta, user schemas.DeltaUser) error {
	owner := reference.Owner{ID: user.ID, Period: user.Period}
	account, known := a.accounts[owner]
	if !known {
		account = reference.Account{Spent: new(big.Int), Keys: new(big.Int)}
	}
	if a.reserved[owner] == nil {
		a.reserved[owner], a.due[owner] = new(big.Int), new(big.Int)
	}
	reserved, actual := a.reserved[owner], a.due[owner]
	for i, window := range delta.Windows {
		if !user.Admitted.Get(i) {
			continue
		}
		var brings reference.Contribution
		if a.config.Metrics[window.Metric].Kind == "counted" {
			brings = a.shares(turn, delta, window, user)
		} else {
			brings = a.brings(turn, window, owner)
		}
		if len(brings.Counts) == 0 {
			return fmt.Errorf("a user was admitted to metric %d with nothing", window.Metric)
		}
		spec := a.config.Metrics[window.Metric]
		for key, c := range brings.Counts {
			reserved.Add(reserved, reference.Charge(c, spec.Top.Big()))
			actual.Add(actual, reference.Charge(c, a.paid(turn, window, key)))
			if spec.KeyMode == "private" {
				account.Keys.Add(account.Keys, spec.DeltaKey.Big())
			}
		}
		for j, at := range a.config.FurtherOf(int(window.Metric)) {
			of := window
			of.Metric = uint32(at)
			for key, c := range brings.Further[j] {
				reserved.Add(reserved, reference.Charge(c, a.config.Metrics[at].Top.Big()))
				actual.Add(actual, reference.Charge(c, a.paid(turn, of, key)))
			}
		}
		top := func(at int, _ string) *big.Int { return a.config.Metrics[at].Top.Big() }
		reserved.Add(reserved, a.config.ChargeTrees(int(window.Metric), brings.Values, top))
		actual.Add(actual, a.config.ChargeTrees(int(window.Metric), brings.Values, func(at int, cell string) *big.Int {
			of := window
			of.Metric = uint32(at)
			return a.paid(turn, of, cell)
		}))
	}
	if reserved.Sign() == 0 { // a budget may have been lowered below what was spent
		delete(a.reserved, owner)
		delete(a.due, owner)
		return nil
	}
	if sum := new(big.Int).Add(reserved, account.Spent); sum.Cmp(a.config.Budget.Mu2) > 0 {
		return fmt.Errorf("a user's spent and reserved amounts are %v of %v", sum, a.config.Budget.Mu2)
	}
	if account.Keys.Cmp(a.config.Budget.Keys) > 0 {
		return fmt.Errorf("a user's δ is %v of %v", account.Keys, a.config.Budget.Keys)
	}
	a.accounts[owner] = account
	return nil
}

// charge settles the span.
func (a *auditor) charge() {
	for owner, due := range a.due {
		account := a.accounts[owner]
		account.Spent.Add(account.Spent, due)
		if account.Spent.Sign() == 0 && account.Keys.Sign() == 0 {
			delete(a.accounts, owner)
		}
	}
	clear(a.reserved)
	clear(a.due)
}

// paid returns the precision that SETTLED names for a key; for a private key that it does not name
// the first rung; for a key taken from another metric that did not release it, nothing.
func (a *auditor) paid(turn uint64, window schemas.MetricWindow, key string) *big.Int {
	settled := a.tr.settled[turn]
	for _, k := range settled.Keys {
		if k.Metric == window.Metric && k.WindowStart == window.WindowStart && k.WindowEnd == window.WindowEnd && string(k.Key) == key {
			return k.Precision.Big()
		}
	}
	if a.config.Metrics[window.Metric].KeyMode == "from" {
		return new(big.Int)
	}
	return settled.FirstRungs[window.Metric].Big()
}
