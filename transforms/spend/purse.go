package spend

import (
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Purse is a user's account with the debt of one metric's bucket, for callers without an Engine who
// know a price when they admit, so that reservation and charge are one step.
type Purse struct {
	Account accounts.Account
	Debt    units.Mu2
}

// Left returns what the user can pay when elapsed milliseconds of the allowance's horizon are over:
// the rest of the account, limited by the bucket.
func (p *Purse) Left(b budgets.Budget, a *accounts.Allowance, elapsed int64) units.Mu2 {
	return min(p.Account.Left(b), a.Left(p.Debt, a.Paid(elapsed)))
}

// Pay takes a price, at most Left, out of the account and of the bucket.
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
