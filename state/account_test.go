package state

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
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
				// What is left, and one unit more than that.
				mu2Left, keysLeft := b.Mu2-a.Spent-a.Reserved, b.Keys.Lo-a.Keys.Lo
				worst := rapid.OneOf(amount, rapid.SampledFrom([]Mu2{mu2Left, mu2Left + 1})).Draw(t, "worst")
				d := Delta{Lo: b.Keys.Lo / rapid.Uint64Range(2, 9).Draw(t, "δ divisor")}
				d.Lo = rapid.SampledFrom([]uint64{d.Lo, d.Lo, 0, 0, keysLeft, keysLeft + 1}).Draw(t, "δ")
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

// An attack: five times as many metrics close in one turn as B² pays for, and all go to their tops.
// Admission on what is spent lets the user into all of them; reserving 40 % of the worst case lets
// the user into too many. With B² for a thousand metrics, reserving 99.8 % is too little already.
func TestRuleReserveWholeWorstCase(t *testing.T) {
	b := testBudget(t, 0)
	attack := func(metrics int, reserved func(Mu2) Mu2) (paid Mu2) {
		var a Account
		var admitted int
		worst := b.Mu2 / Mu2(metrics)
		for range 5 * metrics {
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
		for _, metrics := range []int{2, 1000} {
			paid := attack(metrics, tc.reserved)
			if breaks := paid > b.Mu2; breaks != tc.breaks {
				t.Errorf("%s, B² for %d metrics: the user pays %.3f B²", tc.name, metrics, paid.Float()/b.Mu2.Float())
			}
			if breaks := DeltaOf(paid, b.Epsilon, GDP) > b.Delta; breaks != tc.breaks {
				t.Errorf("%s, B² for %d metrics: δ at ε = 1 is %v", tc.name, metrics, DeltaOf(paid, b.Epsilon, GDP))
			}
		}
	}
}

// The rest of a reservation comes back and admits again; neither what was charged does nor another
// reservation.
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
	a = Account{}
	for _, worst := range []Mu2{10, 20, 30} {
		if err := a.Reserve(b, worst, Delta{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Settle(20, 5); err != nil || a != (Account{Spent: 5, Reserved: 40}) {
		t.Fatalf("one of three reservations is settled: %+v, %v", a, err)
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
	if want := (Account{Keys: Delta{Lo: 3 * third.Lo}}); a != want {
		t.Fatalf("account %+v after three returned reservations, want %+v", a, want)
	}
	rest := Delta{Lo: b.Keys.Lo - a.Keys.Lo}
	if !a.Fits(b, 10, rest) || a.Fits(b, 10, Delta{Lo: rest.Lo + 1}) {
		t.Error("what is left of δ_keys does not fit, or one unit more fits")
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
