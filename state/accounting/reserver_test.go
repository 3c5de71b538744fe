package accounting_test

import (
	"errors"
	"math/big"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/loss"
)

func TestASettlementMustMatchItsReservation(t *testing.T) {
	u := must.Have(accounting.NewUnified(1, 1e-6))
	worst := loss.ZCDP{Rho: 0.5, Delta: 1e-7}
	if err := u.Settle(worst, loss.ZCDP{}); !errors.Is(err, accounts.ErrSettle) {
		t.Errorf("nothing is reserved: %v", err)
	}
	must.Have(0, u.Reserve(worst))
	before := u.Left()
	for _, c := range []struct {
		name            string
		worst, realised loss.ZCDP
	}{
		{"more than the worst case", worst, loss.ZCDP{Rho: 0.6}},
		{"more than is reserved", loss.ZCDP{Rho: 0.6}, loss.ZCDP{Rho: 0.1}},
		{"a larger delta", worst, loss.ZCDP{Rho: 0.1, Delta: 2e-7}},
	} {
		if err := u.Settle(c.worst, c.realised); !errors.Is(err, accounts.ErrSettle) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	named(t, "worst", u.Settle(loss.ZCDP{Rho: -1}, loss.ZCDP{}), "rho")
	named(t, "realised", u.Settle(worst, loss.ZCDP{Rho: -1}), "rho")
	named(t, "reserve", u.Reserve(loss.ZCDP{Rho: 0.1, Delta: -1}), "delta")
	if u.Left() != before || u.Reserved() != (loss.ZCDP{Rho: 0.5}) {
		t.Errorf("failed calls changed what is left from %v to %v, reserved %v", before, u.Left(), u.Reserved())
	}
	must.Have(0, u.Settle(worst, loss.ZCDP{}))
	if left := u.Left(); left.Rho != 1 || left.Delta >= 1e-6-0.99e-7 {
		t.Errorf("a reservation that released nothing leaves %v: the ρ comes back, the δ stays spent", left)
	}
}

// While two mechanisms are open both could stop at their worst rung: admission on charges alone
// would overspend.
func TestAdmissionCountsOpenReservationsInFull(t *testing.T) {
	u := must.Have(accounting.NewUnified(1, 0))
	worst := loss.ZCDP{Rho: 0.75}
	must.Have(0, u.Reserve(worst))
	for name, take := range map[string]func(loss.ZCDP) error{"reservation": u.Reserve, "loss": u.Spend} {
		if err := take(loss.ZCDP{Rho: 0.5}); !errors.Is(err, accounting.ErrExceeded) {
			t.Fatalf("a %s past the budget beside a reservation: %v", name, err)
		}
	}
	must.Have(0, u.Settle(worst, loss.ZCDP{Rho: 0.125}))
	if left := u.Left().Rho; left != 0.875 {
		t.Errorf("left %v after a stop at 0.125", left)
	}
	// Always asking for the most that is left and stopping anywhere loses nothing.
	total := exact(u.Spent().Rho)
	for i := range 10_000 {
		worst := u.Left()
		realised := loss.ZCDP{Rho: worst.Rho / 10_000 * float64(i%7) / 3}
		must.Have(0, u.Reserve(worst))
		must.Have(0, u.Settle(worst, realised))
		total.Add(total, exact(realised.Rho))
	}
	total.Add(total, exact(u.Left().Rho))
	if total.Cmp(exact(1)) > 0 || total.Cmp(exact(1-1e-12)) < 0 {
		t.Errorf("charged and left are %v of 1", total)
	}
}

// The parts of a mixed filter have budgets of their own, and their promise is never rounded down.
func TestMixedFilters(t *testing.T) {
	m := must.Have(accounting.NewMixed(loss.Approx{Epsilon: 1, Delta: 1e-6}, 1e-7, loss.Approx{Epsilon: 0.5,
		Delta: 1e-8}))
	alone := must.Have(accounting.NewApproxZCDPFor(loss.Approx{Epsilon: 1, Delta: 1e-6}, 1e-7))
	must.Have(0, m.ExPost.Reserve(loss.Approx{Epsilon: 0.5}))
	if m.ExPost.Fits(loss.Approx{Epsilon: 1e-9}) || m.Concentrated.Left() != alone.Left() {
		t.Error("the budgets are not apart")
	}
	sum := new(big.Float).SetPrec(exactBits).Add(exact(1e-6), exact(1e-8))
	if p := m.Promise; p.Epsilon != 1.5 || exact(p.Delta).Cmp(sum) < 0 || p.Delta > 1.01e-6*(1+1e-15) {
		t.Errorf("promised %v, want (1.5, 1.01e-6) rounded up", p)
	}
	m = must.Have(accounting.NewMixed(loss.Approx{Epsilon: 1, Delta: 1e-300}, 0, loss.Approx{Epsilon: 0x1p-70,
		Delta: 0.1}))
	if p := m.Promise; p.Epsilon <= 1 || p.Delta <= 0.1 {
		t.Errorf("promised %v for (1 + 2^-70, 0.1 + 1e-300)", p)
	}
}
