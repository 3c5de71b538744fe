package integration

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// accounts charges what ledger and control say, turn by turn, and checks at every turn that no
// user's spent and reserved amounts exceed the budget, and at every snapshot that it says the same.
func (d *deployment) accounts(tr trusted) (map[reference.Owner]reference.Account, error) {
	all := map[reference.Owner]reference.Account{}
	config := d.referenceConfig()
	for shard, l := range tr.ledgers {
		a := auditor{tr: tr, header: tr.headers[len(tr.headers)-1], config: config, ends: config.TurnEnds(tr.last),
			hasher:   schemas.NewHasher(d.config.Keys.UserHash.Reveal()),
			accounts: map[reference.Owner]reference.Account{}, slices: map[uint64]map[reference.Owner]slice{},
			reserved: map[reference.Owner]*reference.Account{}}
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
	// reserved are the accounts that the worst cases of the span's turns so far are taken from, due
	// its charges.
	reserved map[reference.Owner]*reference.Account
	due      []due
}

type due struct {
	owner   reference.Owner
	metric  schemas.MetricSpec
	elapsed int64
	price   *big.Int
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
			a.slices[turn][reference.Owner{ID: user.ID, Period: user.Period}] = sliceOf(delta.Labels, user.Entries,
				user.Records)
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
		l := labelled{reference.Visit{Key: string(labels[r.Key].Key), Value: r.Value, Record: r.ID},
			labels[r.Key].Passes}
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
		owner := reference.Owner{ID: e.ID, Period: e.Period}
		account := reference.Account{Spent: bigOf(uint64(e.Account.Spent)), Buckets: map[string]reference.Bucket{}}
		for i, m := range a.config.Metrics {
			if m.Burst > 0 {
				account.Buckets[m.Name] = a.bucket(e, i, s.Turn)
			}
		}
		a.accounts[owner] = account
	}
	for _, encoded := range s.Open {
		open, err := schemas.DecodeOpenSlice(encoded)
		if err != nil {
			return fmt.Errorf("the snapshot of turn %d: %w", s.Turn, err)
		}
		a.slices[open.Turn] = map[reference.Owner]slice{}
		for _, user := range open.Users {
			a.slices[open.Turn][reference.Owner{ID: user.ID, Period: user.Period}] = sliceOf(open.Labels, user.Entries,
				user.Records)
		}
	}
	return nil
}

// bucket returns what the debts of the snapshot of a turn leave in a bucket. Those of the turn
// before a change are of the allowances that were in force: what they lack is lacking.
func (a *auditor) bucket(e accounts.Entry, metric int, turn uint64) reference.Bucket {
	now := a.config.Metrics[metric].Allowance()
	was := now
	if before := a.header.Before; turn < a.header.FromTurn && before != nil {
		metric = slices.IndexFunc(before, func(b schemas.MetricAllowance) bool {
			return b.Metric == a.config.Metrics[metric].Name
		})
		if metric >= 0 {
			was = before[metric].Allowance
		}
	}
	debt := units.Mu2(0)
	if metric >= 0 && metric < len(e.Debts) {
		debt = e.Debts[metric]
	}
	elapsed := a.config.Elapsed(reference.Owner{ID: e.ID, Period: e.Period}, a.ends[turn-1])
	missing := bigOf(uint64(accounts.Lacks(debt, was.Paid(elapsed))))
	return reference.Bucket{Balance: missing.Sub(bigOf(uint64(now.Burst)), missing), At: elapsed}
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
		if !ok || account.Spent.Cmp(bigOf(uint64(e.Account.Spent))) != 0 {
			return fmt.Errorf("the snapshot of turn %d has another amount in an account", turn)
		}
		for i, m := range a.config.Metrics {
			got := a.bucket(e, i, turn)
			if want := account.BucketAt(m, got.At); m.Burst > 0 && got.Balance.Cmp(want.Balance) != 0 {
				return fmt.Errorf("the snapshot of turn %d leaves %v in a bucket of metric %q, want %v", turn,
					got.Balance, m.Name, want.Balance)
			}
		}
	}
	for owner := range a.accounts {
		if !there[owner] && !a.config.PeriodIsOver(owner.Period, a.ends[turn-1]) {
			return fmt.Errorf("the snapshot of turn %d lacks an account of period %d", turn, owner.Period)
		}
	}
	return nil
}

// offers returns what an individual has for a window, from the slices that lie in it.
func (a *auditor) offers(turn uint64, window schemas.MetricWindow, owner reference.Owner) reference.Offer {
	spec := a.config.Metrics[window.Metric]
	return a.config.Offer(a.hasher, int(window.Metric), owner, a.visits(turn, window, spec, owner))
}

// shares returns what an individual contributes to a window of a share, of whose metric so many
// events count.
func (a *auditor) shares(turn uint64, window schemas.MetricWindow, owner reference.Owner,
	counted map[string]uint64) reference.Contribution {
	share := a.config.Metrics[window.Metric]
	base := a.config.Metrics[slices.IndexFunc(a.config.Metrics, func(m schemas.MetricSpec) bool {
		return m.Name == share.Of
	})]
	base.Kind = "events" // every event, whatever its value
	all := uint64(len(a.visits(turn, window, base, owner)))
	return reference.Contribution{Admitted: all > 0, Counts: reference.Divide(all, counted[share.Of],
		a.config.KeptOfShare(int(window.Metric), all))}
}

// visits returns an individual's events of a metric in a window.
func (a *auditor) visits(turn uint64, window schemas.MetricWindow, spec schemas.MetricSpec,
	owner reference.Owner) []reference.Visit {
	bit := slices.Index(a.config.Format.Filters, spec.Filter)
	var visits []reference.Visit
	for t := turn; t > 0 && a.ends[t-1] > window.WindowStart; t-- {
		list := a.slices[t][owner].events
		if metrickind.Of(spec.Kind).Values() {
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
	account := a.reserved[owner]
	if account == nil {
		account = &reference.Account{Spent: new(big.Int), Buckets: map[string]reference.Bucket{}}
		if settled, known := a.accounts[owner]; known {
			*account = reference.Account{Spent: settled.Spent, Buckets: maps.Clone(settled.Buckets)}
		}
		a.reserved[owner] = account
	}
	counted := map[string]uint64{} // by metric
	for i, window := range delta.Windows {
		if !user.Admitted.Get(i) {
			continue
		}
		metric := int(window.Metric)
		spec, elapsed := a.config.Metrics[metric], a.config.Elapsed(owner, window.WindowEnd)
		var brings reference.Contribution
		if spec.Kind == "counted" {
			brings = a.shares(turn, window, owner, counted)
		} else {
			brings = a.config.Fill(metric, a.offers(turn, window, owner), a.config.Available(*account, spec, elapsed))
		}
		if !brings.Admitted {
			return fmt.Errorf("a user was admitted to metric %d with nothing", metric)
		}
		counted[spec.Name] = brings.Counted
		account.Take(spec, elapsed, a.config.Price(metric, brings, a.config.Top))
		if account.Spent.Cmp(a.config.Budget.Mu2) > 0 {
			return fmt.Errorf("a user's spent and reserved amounts are %v of %v", account.Spent, a.config.Budget.Mu2)
		}
		a.due = append(a.due, due{owner, spec, elapsed, a.config.Price(metric, brings,
			func(at int, key string) *big.Int {
				of := window
				of.Metric = uint32(at)
				return a.paid(turn, of, key)
			})})
	}
	return nil
}

// charge settles the span.
func (a *auditor) charge() {
	for _, d := range a.due {
		account, known := a.accounts[d.owner]
		if !known {
			account = reference.Account{Spent: new(big.Int), Buckets: map[string]reference.Bucket{}}
		}
		if account.Take(d.metric, d.elapsed, d.price); account.Spent.Sign() > 0 {
			a.accounts[d.owner] = account
		}
	}
	clear(a.reserved)
	a.due = nil
}

// paid returns the precision that SETTLED names for a key; for a private key that it does not name
// the first rung; for a key taken from another metric that did not release it, nothing.
func (a *auditor) paid(turn uint64, window schemas.MetricWindow, key string) *big.Int {
	settled := a.tr.settled[turn]
	for _, k := range settled.Keys {
		if k.Metric == window.Metric && k.WindowStart == window.WindowStart && k.WindowEnd == window.WindowEnd &&
			string(k.Key) == key {
			return k.Precision.Big()
		}
	}
	if a.config.Metrics[window.Metric].KeyMode == "from" {
		return new(big.Int)
	}
	return settled.FirstRungs[window.Metric].Big()
}
