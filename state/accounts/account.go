package accounts

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ID identifies the user of an account. The caller derives its 128 bits from the user id. Two users
// must never share an ID, because a shared account is a privacy breach. Derive it as a keyed hash
// with all 128 bits, not fewer.
type ID [16]byte

// Compare orders ids as byte strings.
func (id ID) Compare(o ID) int { return bytes.Compare(id[:], o[:]) }

// Account holds the loss that one user has spent, or may still have to pay, over all metrics of a
// deployment. The zero value is a new user's account. An Account is not safe for concurrent use.
//
// An Account does not store its budget. If it is checked against several adaptively chosen budgets,
// the guarantee is the largest B² among them; see budgets.Budget.CheckNext.
type Account struct {
	Spent    units.Mu2 // charged for releases, never lowered
	Reserved units.Mu2 // worst case of the turns that are not yet settled
}

// IsZero reports whether nothing has been spent and nothing is reserved.
func (a Account) IsZero() bool { return a == Account{} }

// Fits reports whether the user may be admitted to a turn with this worst case: Spent + Reserved +
// worst ≤ B². A worst case of 0 always fits.
//
// The filter is valid because reservations count at their full worst case, so its Σ d²·v includes
// draws that are decided but not yet settled. With Spent alone, two open turns could overspend.
func (a *Account) Fits(b budgets.Budget, worst units.Mu2) bool { return worst <= a.Left(b) }

// Left returns the greatest worst case that fits. It returns 0 if the account already exceeds b,
// which is possible if an earlier budget was larger.
func (a *Account) Left(b budgets.Budget) units.Mu2 {
	if !fixed.Fits(b.Mu2, a.Spent, a.Reserved, 0) {
		return 0
	}
	return b.Mu2 - a.Spent - a.Reserved
}

// Reserve reserves worst until Settle. If it does not fit, Reserve returns ErrOverBudget.
func (a *Account) Reserve(b budgets.Budget, worst units.Mu2) error {
	if !a.Fits(b, worst) {
		return fmt.Errorf("reserving a worst case: %w", ErrOverBudget)
	}
	a.Reserved += worst
	return nil
}

// Settle ends a reservation of worst: it charges actual and releases the rest. If actual > worst,
// or if less than worst is reserved, Settle returns ErrSettle and changes nothing.
func (a *Account) Settle(worst, actual units.Mu2) error {
	if !fixed.Settles(a.Reserved, worst, actual) {
		return fmt.Errorf("charging the realised part of a reservation: %w", ErrSettle)
	}
	spent, ok := a.Spent.Add(actual)
	if !ok {
		return fmt.Errorf("charging past the range of an account: %w", ErrSettle)
	}
	a.Reserved -= worst
	a.Spent = spent
	return nil
}

// Entry is an account with its key, which consists of the user and the budget period. The caller
// numbers the periods; 0 is used for a lifetime budget.
type Entry struct {
	ID      ID
	Period  int64
	Account Account
	// debts of the account's buckets by metric (see Allowance), without trailing zeros
	Debts []units.Mu2
}

// Equal reports whether e and o have the same key, account and debts.
func (e Entry) Equal(o Entry) bool {
	return e.ID == o.ID && e.Period == o.Period && e.Account == o.Account && slices.Equal(e.Debts, o.Debts)
}

// compare orders entries by id, then by period.
func (e *Entry) compare(id ID, period int64) int {
	return cmp.Or(e.ID.Compare(id), cmp.Compare(e.Period, period))
}
