package state

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/fixedseed"
)

func testBudget(t testing.TB, deltaKeys float64) Budget {
	t.Helper()
	b, err := NewBudget(1, 1e-6, GDP, deltaKeys)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Invariant 1: spent + reserved never exceeds B², and δ never exceeds δ_keys, under
// any sequence of calls, with any amounts and with settlements that lie.
func TestRuleSpentPlusReservedNeverExceedsBudget(t *testing.T) {
	b := testBudget(t, 1e-7)
	amount := rapid.Custom(func(t *rapid.T) Mu2 {
		if rapid.IntRange(0, 9).Draw(t, "huge") == 9 {
			return Mu2(rapid.Uint64().Draw(t, "any"))
		}
		// Parts of the budget: rapid's own integers are mostly tiny.
		part := uint64(b.Mu2) / rapid.Uint64Range(1, 9).Draw(t, "divisor")
		return Mu2(part - rapid.Uint64Range(0, part).Draw(t, "less"))
	})
	rapid.Check(t, func(t *rapid.T) {
		var a Account
		var open []Mu2
		spent := new(big.Int)
		for range rapid.IntRange(20, 60).Draw(t, "steps") {
			before := a
			if len(open) == 0 || rapid.Bool().Draw(t, "reserve") {
				worst := amount.Draw(t, "worst")
				d := Delta{Lo: b.Keys.Lo / rapid.Uint64Range(2, 9).Draw(t, "δ divisor")}
				if rapid.Bool().Draw(t, "no private keys") {
					d = Delta{}
				}
				fits := a.Fits(b, worst, d)
				if a != before {
					t.Fatal("Fits changed the account")
				}
				err := a.Reserve(b, worst, d)
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
			if spent.Cmp(new(big.Int).SetUint64(uint64(a.Spent))) != 0 || reserved.Cmp(new(big.Int).SetUint64(uint64(a.Reserved))) != 0 {
				t.Fatalf("account %+v does not have %v and %v", a, spent, reserved)
			}
			if reserved.Add(reserved, spent).Cmp(new(big.Int).SetUint64(uint64(b.Mu2))) > 0 {
				t.Fatalf("spent + reserved = %v, above B² = %d", reserved, b.Mu2)
			}
			if a.Keys.Cmp(b.Keys) > 0 {
				t.Fatalf("δ spent %v, above %v", a.Keys, b.Keys)
			}
		}
	})
}

// An attack: five metrics close in one turn, each with a worst case of B²/2, and
// all go to their tops. Admission on what is spent lets the user into all five;
// reserving 40 % of the worst case does, too: five reservations of B²/5 fit, five charges
// of B²/2 do not.
func TestRuleReserveWholeWorstCase(t *testing.T) {
	b := testBudget(t, 0)
	worst := b.Mu2 / 2
	attack := func(reserved func(Mu2) Mu2) (paid Mu2) {
		var a Account
		var admitted int
		for range 5 {
			if a.Reserve(b, reserved(worst), Delta{}) == nil {
				admitted++
			}
		}
		return Mu2(admitted) * worst
	}
	for _, tc := range []struct {
		name     string
		reserved func(Mu2) Mu2
		breaks   bool
	}{
		{"admission on spent alone", func(Mu2) Mu2 { return 0 }, true},
		{"40 % of the worst case", func(w Mu2) Mu2 { return w / 5 * 2 }, true},
		{"the whole worst case", func(w Mu2) Mu2 { return w }, false},
	} {
		paid := attack(tc.reserved)
		if breaks := paid > b.Mu2; breaks != tc.breaks {
			t.Errorf("%s: the user pays %.2f B²", tc.name, paid.Float()/b.Mu2.Float())
		}
		if breaks := DeltaOf(paid, b.Epsilon, GDP) > b.Delta; breaks != tc.breaks {
			t.Errorf("%s: δ at ε = 1 is %v", tc.name, DeltaOf(paid, b.Epsilon, GDP))
		}
	}
}

// The rest of a reservation comes back and admits again; what was charged does not.
func TestRuleActualIsChargedAndTheRestReturned(t *testing.T) {
	b := testBudget(t, 0)
	var a Account
	for i := range 10 {
		if err := a.Reserve(b, b.Mu2-a.Spent, Delta{}); err != nil {
			t.Fatalf("turn %d: %v", i, err)
		}
		if a.Fits(b, 1, Delta{}) {
			t.Fatal("a full account fits one more unit")
		}
		if err := a.Settle(a.Reserved, b.Mu2/10); err != nil {
			t.Fatal(err)
		}
	}
	if want := 10 * (b.Mu2 / 10); a.Spent != want || a.Reserved != 0 {
		t.Fatalf("account %+v, want %d spent and nothing reserved", a, want)
	}
}

func TestRuleDeltaIsPaidAtAdmissionAndNeverReturned(t *testing.T) {
	b := testBudget(t, 1e-7)
	third, err := DeltaFromBig(new(big.Int).Div(b.Keys.Big(), big.NewInt(3)))
	if err != nil {
		t.Fatal(err)
	}
	var a Account
	for range 3 {
		if err := a.Reserve(b, 10, third); err != nil {
			t.Fatal(err)
		}
		if err := a.Settle(10, 0); err != nil {
			t.Fatal(err)
		}
	}
	if a.Spent != 0 || a.Reserved != 0 || a.Keys.Cmp(third) <= 0 {
		t.Fatalf("account %+v after three returned reservations", a)
	}
	if a.Fits(b, 10, third) {
		t.Error("a fourth third of δ_keys fits")
	}
	if !a.Fits(b, 10, Delta{}) {
		t.Error("a release without private keys does not fit")
	}
}

func TestSettleRefusesWhatWasNotReserved(t *testing.T) {
	for _, tc := range []struct {
		name          string
		a             Account
		worst, actual Mu2
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

func BenchmarkAccountReserveSettle(b *testing.B) {
	b.ReportAllocs()
	budget := testBudget(b, 1e-7)
	a := Account{}
	for b.Loop() {
		if err := a.Reserve(budget, 1000, Delta{}); err != nil {
			b.Fatal(err)
		}
		if err := a.Settle(1000, 0); err != nil {
			b.Fatal(err)
		}
	}
}
