package accounts

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

func testBudget(t testing.TB, deltaKeys float64) budgets.Budget {
	t.Helper()
	return must.Have(budgets.NewBudget(1, 1e-6, budgets.GDP, deltaKeys))
}

// Invariant 1: spent + reserved never exceeds B² under
// any sequence of calls, with any amounts and with settlements that lie.
func TestRuleSpentPlusReservedNeverExceedsBudget(t *testing.T) {
	b := testBudget(t, 1e-7)
	amount := rapid.Custom(func(t *rapid.T) units.Mu2 {
		if rapid.IntRange(0, 9).Draw(t, "huge") == 9 {
			return units.Mu2(rapid.Uint64().Draw(t, "any"))
		}
		// Parts of the budget: rapid's own integers are mostly tiny.
		part := uint64(b.Mu2) / rapid.Uint64Range(1, 9).Draw(t, "divisor")
		return units.Mu2(part - rapid.Uint64Range(0, part).Draw(t, "less"))
	})
	rapid.Check(t, func(t *rapid.T) {
		var a Account
		var open []units.Mu2
		spent := new(big.Int)
		for range rapid.IntRange(20, 60).Draw(t, "steps") {
			before := a
			if len(open) == 0 || rapid.Bool().Draw(t, "reserve") {
				// Try the remainder, and one unit more.
				mu2Left := b.Mu2 - a.Spent - a.Reserved
				if a.Left(b) != mu2Left {
					t.Fatalf("Left says %d, not %d", a.Left(b), mu2Left)
				}
				worst := rapid.OneOf(amount, rapid.SampledFrom([]units.Mu2{mu2Left, mu2Left + 1})).Draw(t, "worst")
				fits := a.Fits(b, worst)
				if a != before {
					t.Fatal("Fits changed the account")
				}
				err := a.Reserve(b, worst)
				if fits != (err == nil) || err != nil && (a != before || !errors.Is(err, ErrOverBudget)) {
					t.Fatalf("Fits says %v, Reserve says %v", fits, err)
				}
				if err == nil {
					open = append(open, worst)
				}
			} else {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				worst, actual := open[i], amount.Draw(t, "actual")
				if rapid.Bool().Draw(t, "honest") && actual > worst {
					actual = worst
				}
				err := a.Settle(worst, actual)
				if (actual <= worst) != (err == nil) || err != nil && (a != before || !errors.Is(err, ErrSettle)) {
					t.Fatalf("settling %d for %d: %v", actual, worst, err)
				}
				if err == nil {
					open = append(open[:i], open[i+1:]...)
					spent.Add(spent, new(big.Int).SetUint64(uint64(actual)))
				}
			}
			reserved := new(big.Int)
			for _, w := range open {
				reserved.Add(reserved, new(big.Int).SetUint64(uint64(w)))
			}
			if spent.Cmp(new(big.Int).SetUint64(uint64(a.Spent))) != 0 ||
				reserved.Cmp(new(big.Int).SetUint64(uint64(a.Reserved))) != 0 {
				t.Fatalf("account %+v does not have %v and %v", a, spent, reserved)
			}
			if reserved.Add(reserved, spent).Cmp(new(big.Int).SetUint64(uint64(b.Mu2))) > 0 {
				t.Fatalf("spent + reserved = %v, above B² = %d", reserved, b.Mu2)
			}
		}
	})
}

// An attack: five times as many metrics close in one turn as B² pays for, and all go to their tops.
// Admission on spent loss alone lets the user into all of them; reserving 40% of the worst case
// lets the user into too many. With B² for a thousand metrics, reserving 99.8% is too little
// already.
func TestRuleReserveWholeWorstCase(t *testing.T) {
	b := testBudget(t, 0)
	attack := func(metrics int, reserved func(units.Mu2) units.Mu2) (paid units.Mu2) {
		var a Account
		var admitted int
		worst := b.Mu2 / units.Mu2(metrics)
		for range 5 * metrics {
			if a.Reserve(b, reserved(worst)) == nil {
				admitted++
			}
		}
		return units.Mu2(admitted) * worst
	}
	for _, tc := range []struct {
		name     string
		reserved func(units.Mu2) units.Mu2
		breaks   bool
	}{
		{"admission on spent alone", func(units.Mu2) units.Mu2 { return 0 }, true},
		{"40% of the worst case", func(w units.Mu2) units.Mu2 { return w / 5 * 2 }, true},
		{"the whole worst case", func(w units.Mu2) units.Mu2 { return w }, false},
	} {
		for _, metrics := range []int{2, 1000} {
			paid := attack(metrics, tc.reserved)
			if breaks := paid > b.Mu2; breaks != tc.breaks {
				t.Errorf("%s, B² for %d metrics: the user pays %.3f B²", tc.name, metrics, paid.Float()/b.Mu2.Float())
			}
			if breaks := budgets.DeltaOf(paid, b.Epsilon, budgets.GDP) > b.Delta; breaks != tc.breaks {
				t.Errorf("%s, B² for %d metrics: δ at ε = 1 is %v", tc.name, metrics,
					budgets.DeltaOf(paid, b.Epsilon, budgets.GDP))
			}
		}
	}
}

// The rest of a reservation is returned and can be admitted again; charged loss and other
// reservations cannot.
func TestRuleActualIsChargedAndTheRestReturned(t *testing.T) {
	b := testBudget(t, 0)
	var a Account
	for range 10 {
		must.Have(0, a.Reserve(b, b.Mu2-a.Spent))
		if a.Fits(b, 1) {
			t.Fatal("a full account fits one more unit")
		}
		must.Have(0, a.Settle(a.Reserved, b.Mu2/10))
	}
	if want := 10 * (b.Mu2 / 10); a.Spent != want || a.Reserved != 0 {
		t.Fatalf("account %+v, want %d spent and nothing reserved", a, want)
	}
	a = Account{}
	for _, worst := range []units.Mu2{10, 20, 30} {
		must.Have(0, a.Reserve(b, worst))
	}
	if err := a.Settle(20, 5); err != nil || a != (Account{Spent: 5, Reserved: 40}) {
		t.Fatalf("one of three reservations is settled: %+v, %v", a, err)
	}
}

func TestSettleRefusesWhatWasNotReserved(t *testing.T) {
	for _, tc := range []struct {
		name          string
		a             Account
		worst, actual units.Mu2
	}{
		{"more charged than reserved for it", Account{Reserved: 10}, 5, 6},
		{"more returned than reserved", Account{Reserved: 10}, 11, 1},
		{"spent would wrap", Account{Reserved: 10, Spent: math.MaxUint64}, 10, 1},
	} {
		a := tc.a
		if err := a.Settle(tc.worst, tc.actual); !errors.Is(err, ErrSettle) || a != tc.a {
			t.Errorf("%s: %v, account %+v", tc.name, err, a)
		}
	}
}

// Loss that was spent before the deployment began cannot be spent again.
func TestRuleNoAccountSpendsWhatWasPlanned(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		whole := testBudget(t, rapid.SampledFrom([]float64{0, 1e-7}).Draw(rt, "keys"))
		left, err := whole.Plan(rapid.Float64Range(0.001, 0.9).Draw(rt, "share"))
		if err != nil {
			rt.Fatal(err)
		}
		account := Account{Spent: left.Mu2}
		if account.Fits(left, 1) {
			rt.Fatal("an account spends what was planned")
		}
	})
}

func TestReleasesBeforeRefusal(t *testing.T) {
	for _, tc := range []struct {
		a    budgets.Accountant
		want uint64
	}{{budgets.GDP, 560}, {budgets.ZCDP, 487}, {budgets.RDP, 487}} {
		b := must.Have(budgets.NewBudget(1, 1e-6, tc.a, 0))
		got, err := budgets.ReleasesBeforeRefusal(b, 100, 1)
		if err != nil || got != tc.want {
			t.Errorf("%s: %d releases, %v; want %d", tc.a, got, err, tc.want)
		}
		// The same by paying for them.
		u, _ := units.PrecisionFromSigma(100)
		charge, _ := units.Charge(1, u)
		var a Account
		var paid uint64
		for a.Reserve(b, charge) == nil {
			must.Have(0, a.Settle(charge, charge))
			paid++
		}
		if paid != tc.want {
			t.Errorf("%s: an account paid %d releases, want %d", tc.a, paid, tc.want)
		}
	}
	// ε = ρ + 2√(ρ·ln(1/δ)), the loose conversion, would give 349.
	l := math.Log(1e6)
	root := math.Sqrt(l+1) - math.Sqrt(l)
	if n := int(2 * root * root / 1e-4); n != 349 {
		t.Errorf("loose zCDP conversion: %d releases", n)
	}
}

// Sums that wrap around 64 or 128 bits are refused, against the largest budget as well.
func TestRuleASaturatedChargeIsNeverPaid(t *testing.T) {
	b := must.Have(budgets.NewBudget(1, 1e-6, budgets.GDP, 0))
	a := Account{Spent: 5}
	if a.Fits(b, units.MaxMu2) || a.Reserve(b, units.MaxMu2) == nil || a != (Account{Spent: 5}) {
		t.Fatal("an account paid a saturated charge")
	}
	// Sums that wrap are refused, too, even against the largest budget.
	b.Mu2 = units.MaxMu2
	a = Account{Spent: math.MaxUint64 - 1, Reserved: 1}
	if a.Fits(b, 1) {
		t.Error("spent + reserved + worst wrapped around")
	}
	a = Account{Spent: math.MaxUint64, Reserved: 2} // the sum would wrap to 1
	if a.Fits(b, 2) {
		t.Error("spent + reserved wrapped around")
	}
	if n, err := budgets.ReleasesBeforeRefusal(b, 100, 1<<40); n != 0 || err != nil {
		t.Errorf("releases of an unpayable contribution: %d, %v", n, err)
	}
}
