package filter_test

import (
	"errors"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// TestReservationsAndChargesTogetherStayWithinTheBudget runs both kinds of Reserver beside
// exact sums of what is spent and reserved, with any number of reservations open.
func TestReservationsAndChargesTogetherStayWithinTheBudget(t *testing.T) {
	t.Run("unified", func(t *testing.T) {
		holdAndSettle(t, func() filter.Reserver[loss.ZCDP] { return must(filter.NewUnified(0.7, 1e-5)) }, concentrated, fromConcentrated)
	})
	t.Run("ex-post", func(t *testing.T) {
		holdAndSettle(t, func() filter.Reserver[loss.Approx] {
			return must(filter.NewExPostApprox(loss.Approx{Epsilon: 0.7, Delta: 1e-5}))
		}, approx, fromApprox)
	})
}

func holdAndSettle[L any](t *testing.T, fresh func() filter.Reserver[L], in func(numbers) L, out func(L) numbers) {
	s := subject{scale: numbers{0.7, 1e-5}}
	rapid.Check(t, func(t *rapid.T) {
		f := fresh()
		total, failures := exact(0), exact(0)
		var reserved []numbers
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if total.Cmp(exact(0.7)) > 0 || failures.Cmp(exact(1e-5)) > 0 {
					t.Fatal("more is spent and reserved than the budget")
				}
			},
			"reserve": func(t *rapid.T) {
				n := s.draw(t, out(f.Left()))
				fits := f.Fits(in(n))
				if err := f.Reserve(in(n)); fits != (err == nil) || err != nil && !errors.Is(err, filter.ErrExceeded) {
					t.Fatalf("%v fits: %v, but reserving it: %v", n, fits, err)
				}
				if fits {
					reserved = append(reserved, n)
					total.Add(total, exact(n[0]))
					failures.Add(failures, exact(n[1]))
				}
			},
			"spend": func(t *rapid.T) {
				n := s.draw(t, out(f.Left()))
				if f.Spend(in(n)) == nil {
					total.Add(total, exact(n[0]))
					failures.Add(failures, exact(n[1]))
				}
			},
			"settle": func(t *rapid.T) {
				if len(reserved) == 0 {
					t.Skip("nothing is reserved")
				}
				worst := reserved[0]
				actual := numbers{drawNumber(t, worst[0], worst[0]), 0}
				before := out(f.Left())
				err := f.Settle(in(worst), in(actual))
				if actual[0] <= worst[0] && err != nil {
					t.Fatalf("settling %v of %v: %v", actual, worst, err)
				}
				// Above the worst case only what costs the same number of units passes.
				if err == nil {
					reserved = reserved[1:]
					total.Sub(total, exact(worst[0]))
					total.Add(total, exact(min(actual[0], worst[0])))
				} else if after := out(f.Left()); !errors.Is(err, accounts.ErrSettle) || after[0] != before[0] {
					t.Fatalf("settling %v of %v: %v", actual, worst, err)
				}
			},
		})
	})
}

func TestASettlementMustMatchItsReservation(t *testing.T) {
	u := must(filter.NewUnified(1, 1e-6))
	worst := loss.ZCDP{Rho: 0.5, Delta: 1e-7}
	if err := u.Settle(worst, loss.ZCDP{}); !errors.Is(err, accounts.ErrSettle) {
		t.Errorf("nothing is reserved: %v", err)
	}
	if err := u.Reserve(worst); err != nil {
		t.Fatal(err)
	}
	before := u.Left()
	for _, c := range []struct {
		name           string
		worst, stopped loss.ZCDP
	}{
		{"more than the worst case", worst, loss.ZCDP{Rho: 0.6}},
		{"more than is reserved", loss.ZCDP{Rho: 0.6}, loss.ZCDP{Rho: 0.1}},
		{"a larger delta", worst, loss.ZCDP{Rho: 0.1, Delta: 2e-7}},
	} {
		if err := u.Settle(c.worst, c.stopped); !errors.Is(err, accounts.ErrSettle) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	named(t, "worst", u.Settle(loss.ZCDP{Rho: -1}, loss.ZCDP{}), "rho")
	named(t, "stopped", u.Settle(worst, loss.ZCDP{Rho: -1}), "rho")
	named(t, "reserve", u.Reserve(loss.ZCDP{Rho: 0.1, Delta: -1}), "delta")
	if u.Left() != before {
		t.Errorf("failed calls changed what is left from %v to %v", before, u.Left())
	}
	if err := u.Settle(worst, loss.ZCDP{}); err != nil {
		t.Fatal(err)
	}
	if left := u.Left(); left.Rho != 1 || left.Delta >= 1e-6-0.99e-7 {
		t.Errorf("a reservation that released nothing leaves %v: the ρ comes back, the δ stays spent", left)
	}

	e := must(filter.NewExPost(1))
	if err := e.Reserve(loss.Approx{Epsilon: 0.5}); err != nil {
		t.Fatal(err)
	}
	if err := e.Settle(loss.Approx{Epsilon: 0.5}, loss.Approx{Epsilon: 0.1, Delta: 1e-9}); !errors.Is(err, accounts.ErrSettle) {
		t.Errorf("a larger delta: %v", err)
	}
	named(t, "worst", e.Settle(loss.Approx{Epsilon: -1}, loss.Approx{}), "epsilon")
	named(t, "realised", e.Settle(loss.Approx{Epsilon: 0.5}, loss.Approx{Epsilon: -1}), "epsilon")
	named(t, "reserve", e.Reserve(loss.Approx{Delta: 1}), "delta")
	if err := e.Settle(loss.Approx{Epsilon: 0.5}, loss.Approx{Epsilon: 0.1}); err != nil {
		t.Error(err)
	}
}

// TestAdmissionCountsOpenReservationsInFull is the mistake that a filter on charges alone
// makes: while two mechanisms are open both could stop at their worst rung.
func TestAdmissionCountsOpenReservationsInFull(t *testing.T) {
	u := must(filter.NewUnified(1, 0))
	worst := loss.ZCDP{Rho: 0.75}
	if err := u.Reserve(worst); err != nil {
		t.Fatal(err)
	}
	if err := u.Reserve(loss.ZCDP{Rho: 0.5}); !errors.Is(err, filter.ErrExceeded) {
		t.Fatalf("a second reservation past the budget: %v", err)
	}
	if err := u.Spend(loss.ZCDP{Rho: 0.5}); !errors.Is(err, filter.ErrExceeded) {
		t.Fatalf("a mechanism past the budget beside a reservation: %v", err)
	}
	if err := u.Settle(worst, loss.ZCDP{Rho: 0.125}); err != nil {
		t.Fatal(err)
	}
	if left := u.Left().Rho; left != 0.875 {
		t.Errorf("left %v after a stop at 0.125", left)
	}
}

// TestAMillionSettledReservationsStayWithinTheBudget always asks for the most that is left
// and stops anywhere.
func TestAMillionSettledReservationsStayWithinTheBudget(t *testing.T) {
	steps := 1_000_000
	if !long.On() {
		steps = 20_000
	}
	u := must(filter.NewUnified(0.7, 0))
	total := new(big.Float).SetPrec(exactBits)
	for i := range steps {
		worst := u.Left()
		stopped := loss.ZCDP{Rho: worst.Rho / float64(steps) * float64(i%7) / 3}
		if err := u.Reserve(worst); err != nil {
			t.Fatal(err)
		}
		if u.Left().Rho >= worst.Rho && worst.Rho > 0 {
			t.Fatal("a reservation took nothing")
		}
		if err := u.Settle(worst, stopped); err != nil {
			t.Fatal(err)
		}
		total.Add(total, exact(stopped.Rho))
	}
	total.Add(total, exact(u.Left().Rho))
	if total.Cmp(exact(0.7)) > 0 {
		t.Errorf("charged and left are %v of 0.7", total)
	}
	if low := exact(0.7 - 1e-12); total.Cmp(low) < 0 {
		t.Errorf("charged and left are only %v of 0.7", total)
	}
}

func TestThePartsOfAMixedFilterHaveBudgetsOfTheirOwn(t *testing.T) {
	m := must(filter.NewMixed(loss.Approx{Epsilon: 1, Delta: 1e-6}, 1e-7, loss.Approx{Epsilon: 0.5, Delta: 1e-8}))
	alone := must(filter.NewApproxZCDPFor(loss.Approx{Epsilon: 1, Delta: 1e-6}, 1e-7))
	if m.Concentrated().Left() != alone.Left() {
		t.Errorf("the zCDP part has %v, alone it would have %v", m.Concentrated().Left(), alone.Left())
	}
	if err := m.ExPost().Reserve(loss.Approx{Epsilon: 0.5}); err != nil {
		t.Fatal(err)
	}
	if m.ExPost().Fits(loss.Approx{Epsilon: 1e-9}) || m.Concentrated().Left() != alone.Left() {
		t.Error("the budgets are not apart")
	}
	if err := m.Concentrated().Spend(m.Concentrated().Left()); err != nil {
		t.Error(err)
	}
	p := m.Promise()
	sum := new(big.Float).SetPrec(exactBits).Add(exact(1e-6), exact(1e-8))
	if p.Epsilon != 1.5 || exact(p.Delta).Cmp(sum) < 0 || p.Delta > 1.01e-6*(1+1e-15) {
		t.Errorf("promised %v, want (1.5, 1.01e-6) rounded up", p)
	}
}

// TestAPromiseIsNeverRoundedDown has sums that rounding to nearest would make too
// small.
func TestAPromiseIsNeverRoundedDown(t *testing.T) {
	m := must(filter.NewMixed(loss.Approx{Epsilon: 1, Delta: 1e-300}, 0, loss.Approx{Epsilon: 0x1p-70, Delta: 0.1}))
	if p := m.Promise(); p.Epsilon <= 1 || p.Delta <= 0.1 {
		t.Errorf("promised %v for (1 + 2^-70, 0.1 + 1e-300)", p)
	}
}
