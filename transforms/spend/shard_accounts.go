package spend

import (
	"errors"
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// errOverBudget says that a ledger holds decisions which no budget allows.
var errOverBudget = errors.New("an admitted user's worst case does not fit the budget")

// errNothingKept says that a ledger admits a user to a window in which nothing
// of the user counts.
var errNothingKept = errors.New("a user was admitted to a window without contributing to it")

// errOtherWindows says that a ledger decides about other windows than those that end
// with its turn.
var errOtherWindows = errors.New("the decided windows are not those that end with the turn")

// errUserMissed says that a ledger's users are out of order, or that the walk over
// the users of the windows did not meet each of them once.
var errUserMissed = errors.New("the users with decisions are not met one by one among those of the windows")

// shardAccounts is one shard's accounts as of a turn. From a turn's admission to its settlement the
// worst case of its admitted users is reserved: for every turn of a span at once, because nothing
// of a span is charged before all of it is decided.
type shardAccounts struct {
	rules   *Rules
	windows Windows
	clip    *clipper
	store   *accounts.Shard
	open    []openSlice // slices of windows that end after turn, ascending
	turn    uint64      // the last turn that was decided
	decided []decision  // the turns up to it that are not charged, ascending
	period  int64       // accounts of earlier ones were dropped

	scratch *scratch     // while a turn is decided
	charged reservations // of a charged turn, for their memory
}

// decision is a decided turn that is not charged yet.
type decision struct {
	delta        *schemas.Delta
	ended        *endedWindows // the windows that ended with it
	reservations reservations  // of the admitted
}

func newShardAccounts(r *Rules, w Windows) *shardAccounts {
	return &shardAccounts{rules: r, windows: w, clip: newClipper(r), store: accounts.NewShard(), period: math.MinInt64, scratch: new(scratch)}
}

func (a *shardAccounts) metric(w schemas.MetricWindow) (*metric, error) {
	if int(w.Metric) >= len(a.rules.metrics) {
		return nil, fmt.Errorf("reading a delta: it names metric %d of %d", w.Metric, len(a.rules.metrics))
	}
	return &a.rules.metrics[w.Metric], nil
}

// put stores the account of a user for whom reservations were added since from.
func (a *shardAccounts) put(place int, u *member, account accounts.Account, to *reservations, from int) error {
	place, err := a.store.PutAt(place, u.ID, u.Period, account)
	if err != nil {
		return fmt.Errorf("keeping an account: %w", err)
	}
	to.standsAt(place, from)
	return nil
}

// first returns the first turn that is not charged.
func (a *shardAccounts) first() uint64 { return a.turn + 1 - uint64(len(a.decided)) }

// follows reports whether a turn may be decided now, as one of a span that begins with first: it is
// the next one, and everything before the span is charged.
func (a *shardAccounts) follows(first, turn uint64) bool {
	return turn == a.turn+1 && first == a.first()
}

// charge settles the decided turns that a settlement speaks of, from the first
// one on: every admitted user pays for what was released, and the rest of the
// reservation goes back.
func (a *shardAccounts) charge(s *Settlement) error {
	if len(a.decided) == 0 || a.first() < s.First || a.first() > s.Turn {
		return fmt.Errorf("charging turns %d to %d where turns %d to %d are decided: out of order", s.First, s.Turn, a.first(), a.turn)
	}
	for len(a.decided) > 0 && a.first() <= s.Turn {
		if err := a.chargeTurn(&a.decided[0], s); err != nil {
			return err
		}
		a.charged = a.decided[0].reservations
		a.decided[0] = decision{} // its windows may be large
		a.decided = a.decided[1:]
	}
	if len(a.decided) > 0 {
		return nil
	}
	a.decided = nil
	return a.dropPeriods()
}

func (a *shardAccounts) chargeTurn(d *decision, s *Settlement) error {
	prices, err := a.prices(d, s)
	if err != nil {
		return err
	}
	list := d.reservations.list
	for i := 0; i < len(list); {
		first := &list[i]
		account, kept := accounts.Account{}, first.account != noAccount
		if kept {
			var err error
			if account, err = a.store.At(int(first.account), first.id, first.period); err != nil {
				return err
			}
		}
		for ; i < len(list) && list[i].id == first.id && list[i].period == first.period; i++ {
			actual, err := prices.of(&d.reservations, &list[i])
			if err != nil {
				return err
			}
			if err := account.Settle(list[i].worst, actual); err != nil {
				return err
			}
		}
		if !kept {
			continue
		}
		if _, err := a.store.PutAt(int(first.account), first.id, first.period, account); err != nil {
			return fmt.Errorf("keeping an account: %w", err)
		}
	}
	return nil
}

// dropPeriods drops the accounts that no window can charge any more, once no decided turn is left
// that charges them.
func (a *shardAccounts) dropPeriods() error {
	least := a.windows.LeastPeriod(a.turn)
	if least <= a.period {
		return nil
	}
	a.period = least
	if err := a.store.DropBefore(least); err != nil {
		return fmt.Errorf("settling turn %d: %w", a.turn, err)
	}
	return nil
}

// prices says what a contribution to a decided turn costs: a precision by window and key, one more
// for second components, and one by window for coverage.
type prices struct {
	rules    *Rules
	windows  []schemas.MetricWindow
	keys     [][]units.Precision
	released [][]units.Precision // as keys, 0 for private ones that were not released
	second   [][]units.Precision
	coverage []units.Precision
}

func (a *shardAccounts) prices(d *decision, s *Settlement) (*prices, error) {
	n := len(d.delta.Windows)
	p := &prices{rules: a.rules, windows: d.delta.Windows, keys: make([][]units.Precision, n), released: make([][]units.Precision, n), second: make([][]units.Precision, n), coverage: make([]units.Precision, n)}
	for i, window := range d.delta.Windows {
		m, err := a.metric(window)
		if err != nil {
			return nil, err
		}
		p.keys[i] = s.precisions(window, d.ended.contributions[i].keys, m.private())
		if m.second > 0 {
			p.released[i] = s.precisions(window, d.ended.contributions[i].keys, false)
			of := window
			of.Metric = uint32(m.second)
			p.second[i] = s.precisions(of, d.ended.contributions[i].keys, false)
		}
		if m.coverage >= 0 {
			window.Metric = uint32(m.coverage)
			p.coverage[i] = s.precisions(window, [][]byte{nil}, false)[0]
		}
	}
	return p, nil
}

// of returns what counts in a window costs now that the turn is settled. A key that its metric
// takes from another one, and that was not released, costs nothing: nothing was
// drawn for it. Second components are there for released keys and for no other.
func (p *prices) of(all *reservations, r *reservation) (units.Mu2, error) {
	window := int(r.window)
	m := &p.rules.metrics[p.windows[window].Metric]
	var actual units.Mu2
	for i, k := range all.of(r) {
		if m.second > 0 {
			u := p.second[window][k.key]
			if u.IsZero() != p.released[window][k.key].IsZero() {
				return 0, errNoPrice
			}
			charge, _ := units.Charge(size(all.secondOf(r)[i]), u)
			actual, _ = actual.Add(charge)
		}
		u := p.keys[window][k.key]
		if u.IsZero() && m.spec.KeyMode != schemas.KeysFrom {
			return 0, errNoPrice
		}
		charge, _ := units.Charge(k.contribution(), u)
		actual, _ = actual.Add(charge)
	}
	if m.coverage >= 0 {
		if p.coverage[window].IsZero() {
			return 0, errNoPrice
		}
		charge, _ := units.Charge(1, p.coverage[window])
		actual, _ = actual.Add(charge)
	}
	return actual, nil
}

// errNoPrice says that a public key is missing from a settlement, or the second component of a
// released one. For a private key the first rung is the price; a public one is always released.
var errNoPrice = errors.New("a public key that was counted is missing from the settlement")
