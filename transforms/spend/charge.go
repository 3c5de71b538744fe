package spend

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// charge charges the decided turn. Every admitted user pays for the released keys, and the rest of
// the reservation becomes available again.
func (a *shardAccounts) charge(s *Settlement) error {
	if a.decided == nil || a.turn != s.Turn {
		return fmt.Errorf("charging turn %d out of order: the last turn is %d, charged: %v", s.Turn, a.turn,
			a.decided == nil)
	}
	if err := a.settleReservations(a.decided, s); err != nil {
		return err
	}
	a.charged, a.decided = a.decided.reservations, nil
	return a.dropPeriods()
}

// settleReservations replaces every reservation with the actual cost.
func (a *shardAccounts) settleReservations(d *decision, s *Settlement) error {
	prices, err := a.prices(d, s)
	if err != nil {
		return err
	}
	list := d.reservations.list
	for i := 0; i < len(list); {
		first := &list[i]
		account, stored := accounts.Account{}, first.account != noAccount
		if stored {
			var err error
			if account, err = a.store.At(int(first.account), first.id, first.period); err != nil {
				return err
			}
		}
		for ; i < len(list) && list[i].id == first.id && list[i].period == first.period; i++ {
			actual, err := prices.cost(&d.reservations, &list[i])
			if err != nil {
				return err
			}
			if err := account.Settle(list[i].worst, actual); err != nil {
				return err
			}
			if stored && a.observe != nil {
				a.observe(first.id, first.period, d.delta.Windows[list[i].window], actual)
			}
			if stored {
				a.debit(int(first.account), &list[i], d.delta.Windows[list[i].window], actual)
			}
		}
		if !stored {
			continue
		}
		if _, err := a.store.PutAt(int(first.account), first.id, first.period, account); err != nil {
			return fmt.Errorf("keeping an account: %w", err)
		}
	}
	return nil
}

// dropPeriods drops the accounts of budget periods that no later window can charge.
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

// prices holds the precisions that the contributors to a decided turn pay for.
type prices struct {
	rules    *Rules
	windows  []schemas.MetricWindow
	keys     [][]units.Precision   // by window and key
	released [][]units.Precision   // by window and key: 0 for private keys that were not released
	extra    [][][]units.Precision // by window, additional component and key
	nodes    [][]drawnNodes        // by window and key, for metrics with trees
}

func (a *shardAccounts) prices(d *decision, s *Settlement) (*prices, error) {
	n := len(d.delta.Windows)
	p := &prices{rules: a.rules, windows: d.delta.Windows, keys: make([][]units.Precision, n),
		released: make([][]units.Precision, n), extra: make([][][]units.Precision, n), nodes: make([][]drawnNodes, n)}
	for i, window := range d.delta.Windows {
		m, err := a.metric(window)
		if err != nil {
			return nil, err
		}
		p.keys[i] = s.precisions(window, d.ended.keysOf(i, m), m.private())
		if len(m.extra) > 0 || m.nodes >= 0 {
			p.released[i] = s.precisions(window, d.ended.keysOf(i, m), false)
		}
		for _, component := range m.extra {
			derived := window
			derived.Metric = uint32(component)
			p.extra[i] = append(p.extra[i], s.precisions(derived, d.ended.keysOf(i, m), false))
		}
		if m.nodes >= 0 {
			derived := window
			derived.Metric = uint32(m.nodes)
			if p.nodes[i], err = s.drawnNodes(derived, d.ended.keysOf(i, m)); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// cost returns the cost of a user's contributions to one window of a settled turn. If a metric
// takes its keys from another metric, a key that was not released costs nothing, because no noise
// was drawn for that key. Only released keys have additional components.
func (p *prices) cost(reserved *reservations, r *reservation) (units.Mu2, error) {
	window := int(r.window)
	m := &p.rules.metrics[p.windows[window].Metric]
	var actual units.Mu2
	for leaves := reserved.leavesOf(r); len(leaves) > 0; {
		var selected []leafCount
		selected, leaves = firstTree(leaves)
		key := selected[0].key
		charge, err := p.nodes[window][key].price(selected, m.scale.Levels(), !p.released[window][key].IsZero())
		if err != nil {
			return 0, err
		}
		actual, _ = actual.Add(charge)
	}
	for i, k := range reserved.keptOf(r) {
		for j, n := range reserved.extraOf(r, i, len(m.extra)) {
			u := p.extra[window][j][k.key]
			if u.IsZero() != p.released[window][k.key].IsZero() {
				return 0, errNoPrice
			}
			charge, _ := units.Charge(size(n), u)
			actual, _ = actual.Add(charge)
		}
		u := p.keys[window][k.key]
		if u.IsZero() && m.spec.KeyMode != schemas.KeysFrom {
			return 0, errNoPrice
		}
		charge, _ := units.Charge(k.contribution(), u)
		actual, _ = actual.Add(charge)
	}
	return actual, nil
}

// errNoPrice is returned if a settlement lacks a public key, or an additional component of a
// released key. An unreleased private key costs the first rung; a public key is always released.
var errNoPrice = errors.New("a key that was counted is missing from the settlement")
