package reference

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

func TestGaussianBudgetIsThatOfTheMathematics(t *testing.T) {
	// Reference values of the theory page, found there with another program.
	for _, k := range []struct {
		epsilon, delta float64
		want           int64
	}{{1, 1e-6, 61_604_497_218}, {0.01, 1e-6, 11_715_558}} {
		if got := GaussianBudget(k.epsilon, k.delta); got.Int64() != k.want {
			t.Errorf("B² at (%g, %g) is %v, want %d", k.epsilon, k.delta, got, k.want)
		}
	}
}

func TestRuleBudgetsRoundDown(t *testing.T) {
	for _, k := range []struct{ epsilon, delta float64 }{{1, 1e-6}, {0.1, 1e-9}, {4, 1e-5}, {0.01, 1e-6}} {
		exact := GaussianBudget(k.epsilon, k.delta)
		b, err := budgets.NewBudget(k.epsilon, k.delta, budgets.GDP, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := new(big.Int).SetUint64(uint64(b.Mu2))
		if got.Cmp(exact) > 0 {
			t.Errorf("B² at (%g, %g) is %v, above the exact %v", k.epsilon, k.delta, got, exact)
		}
		if gap := new(big.Int).Sub(exact, got); gap.Cmp(big.NewInt(2)) > 0 {
			t.Errorf("B² at (%g, %g) is %v, %v units below the exact value", k.epsilon, k.delta, got, gap)
		}
	}
}

// The literal formula ⌊share·B²/(N·K·C²)⌋ fails this: at (1, 1e-6), N = 100, K = 4, C = 10 its
// hundredth window is refused.
func TestRuleLastAtLeastCountsWholeWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := new(big.Int).SetUint64(rapid.Uint64Range(1<<20, 1<<40).Draw(t, "budget"))
		n, k, c := rapid.Uint64Range(1, 500).Draw(t, "n"), rapid.Uint64Range(1, 20).Draw(t, "k"), rapid.Int64Range(1, 50).Draw(t, "c")
		parts := rapid.Int64Range(1, 4).Draw(t, "parts")
		share := big.NewRat(1, parts)
		covered := new(big.Int)
		if rapid.Bool().Draw(t, "coverage") {
			covered = CoverageUnits(share, budget, n, 0.05)
		}
		u := TopPrecision(share, budget, covered, n, k, big.NewInt(c))
		windows := func(u *big.Int) *big.Int {
			window := Charge(c, u)
			window.Mul(window, new(big.Int).SetUint64(k))
			window.Add(window, covered)
			return window.Mul(window, new(big.Int).SetUint64(n*uint64(parts)))
		}
		if windows(u).Cmp(budget) > 0 {
			t.Fatalf("%d windows at u_top = %v cost %v of %v", n, u, windows(u), budget)
		}
		if windows(new(big.Int).Add(u, new(big.Int).Lsh(big.NewInt(1), 40))).Cmp(budget) <= 0 {
			t.Fatalf("u_top = %v leaves room for more", u)
		}
	})
}

func TestSplitOfAWindowByHand(t *testing.T) {
	// 1001 units for two windows are 500 each; coverage takes ⌊500·¼⌋ = 125; 375/3 = 125 are left
	// for each of three keys.
	share, budget := big.NewRat(1, 1), big.NewInt(1001)
	covered := CoverageUnits(share, budget, 2, 0.25)
	if covered.Int64() != 125 {
		t.Errorf("coverage takes %v units, want 125", covered)
	}
	unit := new(big.Int).Lsh(big.NewInt(1), 40)
	for _, k := range []struct{ covered, cMax, want int64 }{{125, 1, 125}, {125, 5, 5}, {0, 1, 166}} {
		got := TopPrecision(share, budget, big.NewInt(k.covered), 2, 3, big.NewInt(k.cMax))
		if want := new(big.Int).Mul(unit, big.NewInt(k.want)); got.Cmp(want) != 0 {
			t.Errorf("beside %d units of coverage and with c_max = %d, u_top is %v, want %d units of 2^40", k.covered, k.cMax, got, k.want)
		}
	}
}

func TestGreatestTotalOfEveryKind(t *testing.T) {
	for _, k := range []struct {
		kind     string
		min, max int64
		want     int64
	}{{"events", 0, 0, 3}, {"distinct_users", 0, 0, 1}, {"coverage", 0, 0, 1}, {"sum", 0, 7, 21}, {"sum", -9, 7, 27}, {"sum", -9, -2, 27}} {
		m := schemas.MetricSpec{Kind: k.kind, MaxEventsPerKey: 3, Min: k.min, Max: k.max}
		if got := greatestTotal(m); got.Int64() != k.want {
			t.Errorf("c_max of %s in [%d, %d] is %v, want %d", k.kind, k.min, k.max, got, k.want)
		}
	}
}

func TestWindowsOfAPeriod(t *testing.T) {
	for _, k := range []struct {
		period, size, slide int64
		want                uint64
	}{
		{100, 100, 100, 1}, // a period is a window
		{100, 10, 10, 10},
		{100, 30, 10, 12},  // ten that end in it, and two that end after it
		{100, 300, 300, 1}, // three periods to a window
		{10, 15, 15, 2},    // [10, 20) overlaps two windows
		{10, 20, 20, 1},
		{86_400_000, 604_800_000, 86_400_000, 7}, // a week every day
	} {
		if got := WindowsOfAPeriod(k.period, k.size, k.slide); got != k.want {
			t.Errorf("a period of %d overlaps %d windows of %d/%d, want %d", k.period, got, k.size, k.slide, k.want)
		}
	}
}

func TestKeyDeltaIsFloored(t *testing.T) {
	if got := KeyDelta(big.NewRat(1, 2), big.NewInt(1001), 10, 5); got.Int64() != 10 {
		t.Errorf("δ_key is %v, want 10", got)
	}
}

func TestExpAgreesWithTheLibrary(t *testing.T) {
	for _, x := range []float64{-30, -1, 0, 1e-9, 0.5, 3} {
		got, _ := exp(real64(x)).Float64()
		if want := math.Exp(x); math.Abs(got-want) > 1e-15*want {
			t.Errorf("exp(%g) is %g, want %g", x, got, want)
		}
	}
	for _, x := range []float64{-8, -1.5, 0, 2} {
		got, _ := normal(real64(x)).Float64()
		if want := math.Erfc(-x/math.Sqrt2) / 2; math.Abs(got-want) > 1e-14*want {
			t.Errorf("Φ(%g) is %g, want %g", x, got, want)
		}
	}
}
