package spend

import (
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// spendable returns the most that a user can pay for a metric window: the unspent budget of the
// account, limited by the metric's bucket. place is the account's index.
func (a *shardAccounts) spendable(place int, account *accounts.Account, u *member, w schemas.MetricWindow) units.Mu2 {
	m := &a.rules.metrics[w.Metric]
	return min(account.Left(a.rules.Budget), m.allowance.Left(a.store.Debt(place, int(w.Metric)),
		a.paid(m, w, u.Period)))
}

// paid returns the total amount that has been paid into a metric's bucket by the end of a window.
func (a *shardAccounts) paid(m *metric, w schemas.MetricWindow, period int64) units.Mu2 {
	return m.allowance.Paid(a.windows.Elapsed(w, period))
}

// debit takes a user's payment for a window out of the bucket, as if it was known at admission.
func (a *shardAccounts) debit(place int, r *reservation, w schemas.MetricWindow, actual units.Mu2) {
	m := &a.rules.metrics[w.Metric]
	a.store.SetDebt(place, int(w.Metric),
		m.allowance.Take(a.store.Debt(place, int(w.Metric)), a.paid(m, w, r.period), actual))
}

// carryDebts converts an account's debts to these rules, as of the turn before them. A bucket
// inherits the debt of the same metric's bucket. A new metric's bucket is full.
func (a *shardAccounts) carryDebts(e *accounts.Entry) []units.Mu2 {
	elapsed := a.windows.Elapsed(schemas.MetricWindow{WindowEnd: a.rules.Begins}, e.Period)
	debts := make([]units.Mu2, len(a.rules.metrics))
	for i, debt := range e.Debts[:min(len(e.Debts), len(a.rules.Before))] {
		before := &a.rules.Before[i]
		index := slices.IndexFunc(a.rules.metrics, func(m metric) bool { return m.spec.Name == before.Metric })
		if index >= 0 {
			next := &a.rules.metrics[index].allowance
			debts[index] = before.Carry(debt, before.Paid(elapsed), next, next.Paid(elapsed))
		}
	}
	return debts
}
