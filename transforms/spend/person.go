package spend

import (
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Person admits users one after another, without an Engine but with the code that a run uses. It
// serves for forecasts of counts, and for pipelines with fixed prices. Its prices are known at
// admission, so it reserves and charges in one step. A Person is not safe for concurrent use.
type Person struct {
	rules   *Rules
	clip    *clipper
	entry   accounts.Entry
	debts   []units.Mu2 // by metric
	slice   contributions
	matches []bool
	user    schemas.ContribUser
	parts   []Part
}

// Part is a user's contribution to the count of a key.
type Part struct {
	Key   uint32 // index into the keys that were passed to Begin
	Total int64
	Extra []int64 // the user's contributions to additional components that are sums
}

// NewPerson returns a Person. It checks its arguments like NewRules.
func NewPerson(b budgets.Budget, userHash [32]byte, metrics []schemas.MetricSpec) (*Person, error) {
	r, err := NewRules(b, userHash, metrics, 1, 1, minLedgerSlots)
	if err != nil {
		return nil, err
	}
	p := &Person{rules: r, clip: newClipper(r), debts: make([]units.Mu2, len(r.metrics))}
	p.clip.ranks = map[metricKey][16]byte{}
	return p, nil
}

// Begin starts a new user with the given account. keys are the user's keys, in ascending order.
func (p *Person) Begin(account accounts.Entry, keys [][]byte) {
	p.entry = account
	clear(p.debts[copy(p.debts, account.Debts):])
	p.user = schemas.ContribUser{ID: account.ID, Period: account.Period}
	p.slice.keys, p.slice.keyOf, p.matches = keys, p.slice.keyOf[:0], p.matches[:0]
	for i := range keys {
		p.slice.keyOf, p.matches = append(p.slice.keyOf, uint32(i)), append(p.matches, true)
	}
	clear(p.clip.ranks)
}

// Window charges the user for one window of a metric, and returns the counted part of the user's
// events. The window ends elapsed milliseconds after the beginning of the allowance's horizon. The
// metric must count all keys in entries. Entries and records must be in ascending order of keys.
// Metrics with values need records. Windows must be passed in the order of their ends. The result
// is valid until the next call.
func (p *Person) Window(metric int, elapsed int64, entries []schemas.KeyCount,
	records []schemas.RecordValue) ([]Part, error) {
	m, purse := &p.rules.metrics[metric], Purse{p.entry.Account, p.debts[metric]}
	limit := purse.Left(p.rules.Budget, &m.allowance, elapsed)
	p.user.Entries, p.user.Records = entries, records
	kept, _, err := p.clip.clipUser(m, &p.slice, p.matches, &p.user, limit)
	if err != nil || len(kept) == 0 {
		return nil, err
	}
	worst, ok := p.rules.price(m, kept, p.clip.extra, p.clip.leaves)
	if !ok || worst > limit {
		return nil, nil
	}
	if err := purse.Pay(p.rules.Budget, &m.allowance, elapsed, worst); err != nil {
		return nil, err
	}
	p.entry.Account, p.debts[metric] = purse.Account, purse.Debt
	p.parts = p.parts[:0]
	n := len(m.extra)
	for i, k := range kept {
		p.parts = append(p.parts, Part{k.key, k.total, p.clip.extra[i*n : (i+1)*n]})
	}
	return p.parts, nil
}

// Account returns the user's account after all windows so far, without trailing zero debts.
func (p *Person) Account() accounts.Entry {
	last := len(p.debts)
	for last > 0 && p.debts[last-1] == 0 {
		last--
	}
	p.entry.Debts = append([]units.Mu2(nil), p.debts[:last]...)
	return p.entry
}

// Purse is a user's account with the debt of one metric's bucket. It is for callers without an
// Engine, which reserve and charge in one step.
type Purse struct {
	Account accounts.Account
	Debt    units.Mu2
}

// Left returns the most that the user can pay elapsed milliseconds after the beginning of the
// allowance's horizon: the unspent budget of the account, limited by the bucket.
func (p *Purse) Left(b budgets.Budget, a *accounts.Allowance, elapsed int64) units.Mu2 {
	return min(p.Account.Left(b), a.Left(p.Debt, a.Paid(elapsed)))
}

// Pay takes a price out of the account and the bucket. The price must be at most Left.
func (p *Purse) Pay(b budgets.Budget, a *accounts.Allowance, elapsed int64, price units.Mu2) error {
	if err := p.Account.Reserve(b, price); err != nil {
		return err
	}
	if err := p.Account.Settle(price, price); err != nil {
		return err
	}
	p.Debt = a.Take(p.Debt, a.Paid(elapsed), price)
	return nil
}
