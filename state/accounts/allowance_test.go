package accounts

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/units"
)

// TestRuleAnAllowanceIsATokenBucket: a bucket computed from amounts and times agrees with one that
// is filled step by step. It never exceeds its burst, and pays out at most burst plus refill.
func TestRuleAnAllowanceIsATokenBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Allowance{Burst: units.Mu2(rapid.Uint64Range(1, 1<<40).Draw(t, "burst")),
			Refill: units.Mu2(rapid.Uint64Range(0, 1<<40).Draw(t, "refill")), Horizon: rapid.Int64Range(1, 1000).Draw(t,
				"horizon")}
		holds, before := a.Burst, units.Mu2(0)
		var debt units.Mu2
		taken, now := new(big.Int), int64(-5)
		for range 40 {
			now += rapid.Int64Range(0, 60).Draw(t, "passed")
			paid := a.Paid(now)
			exact := big.NewInt(max(now, 0))
			exact.Div(exact.Mul(exact, new(big.Int).SetUint64(uint64(a.Refill))), big.NewInt(a.Horizon))
			if exact.Cmp(new(big.Int).SetUint64(uint64(paid))) != 0 {
				t.Fatalf("%d paid out after %d ms, want %v", paid, now, exact)
			}
			holds = min(a.Burst, holds+paid-before)
			before = paid
			if left := a.Left(debt, paid); left != holds {
				t.Fatalf("%d left, want %d", left, holds)
			}
			amount := units.Mu2(float64(holds) * rapid.Float64Range(0, 1).Draw(t, "part"))
			debt, holds = a.Take(debt, paid, amount), holds-amount
			taken.Add(taken, new(big.Int).SetUint64(uint64(amount)))
			if amount == a.Burst && a.Left(debt, paid) != 0 {
				t.Fatal("more than the burst is left")
			}
		}
		if most := a.Burst + a.Paid(now); taken.Cmp(new(big.Int).SetUint64(uint64(most))) > 0 {
			t.Fatalf("%v taken of %d", taken, most)
		}
		next := Allowance{Burst: a.Burst * 2, Refill: 7, Horizon: 10}
		if paid, p := a.Paid(now), next.Paid(3); next.Left(a.Carry(debt, paid, &next, p), p) !=
			next.Burst-(a.Burst-a.Left(debt, paid)) {
			t.Fatal("the next allowance goes on with another debt")
		}
	})
	var none Allowance
	// The refill is computed modulo 2^64.
	fast := Allowance{Burst: 1 << 40, Refill: 1 << 50, Horizon: 1 << 20}
	for debt, elapsed := units.Mu2(0), int64(1)<<34-5; elapsed < 1<<34+5; elapsed++ { // 2^30 a millisecond
		if left := fast.Left(debt, fast.Paid(elapsed)); left < 1<<30 {
			t.Fatalf("%d left at %d ms", left, elapsed)
		} else if debt = fast.Take(debt, fast.Paid(elapsed), left); fast.Left(debt, fast.Paid(elapsed)) != 0 {
			t.Fatalf("something is left at %d ms", elapsed)
		}
	}
	if none.Left(none.Take(0, 0, 1<<60), 0) != units.MaxMu2 || none.Take(0, 0, 5) != 0 {
		t.Error("no allowance is a limit")
	}
}
