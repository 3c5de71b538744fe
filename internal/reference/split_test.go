package reference

import (
	"math"
	"math/big"
	"testing"

	"github.com/tollgate-dp/tollgate/state"
	"pgregory.net/rapid"
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
		b, err := state.NewBudget(k.epsilon, k.delta, state.GDP, 0)
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

// The literal formula ⌊share·B²/(N·K·C²)⌋ fails this: at (1, 1e-6), N = 100, K = 4, C = 10 its hundredth window is refused.
func TestRuleLastAtLeastCountsWholeWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := new(big.Int).SetUint64(rapid.Uint64Range(1<<20, 1<<40).Draw(t, "budget"))
		n, k, c := rapid.Uint64Range(1, 500).Draw(t, "n"), rapid.Uint64Range(1, 20).Draw(t, "k"), rapid.Uint64Range(1, 50).Draw(t, "c")
		parts := rapid.Int64Range(1, 4).Draw(t, "parts")
		u := TopPrecision(big.NewRat(1, parts), budget, n, k, c)
		windows := func(u *big.Int) *big.Int {
			total := Charge(c, u)
			return total.Mul(total, new(big.Int).SetUint64(n*k*uint64(parts)))
		}
		if windows(u).Cmp(budget) > 0 {
			t.Fatalf("%d windows at u_top = %v cost %v of %v", n, u, windows(u), budget)
		}
		if windows(new(big.Int).Add(u, new(big.Int).Lsh(big.NewInt(1), 40))).Cmp(budget) <= 0 {
			t.Fatalf("u_top = %v leaves room for more", u)
		}
	})
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
