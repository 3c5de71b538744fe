package budgets

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/units"
)

// B² against the 4,096-bit textbook formula: the greatest number of units whose δ does not exceed
// the one asked for. The first two were computed outside this project, too.
func TestRuleBudgetIsTheExactInverseFloored(t *testing.T) {
	for _, tc := range []struct {
		epsilon, delta float64
		want           units.Mu2 // 0: not stated elsewhere
	}{
		{1, 1e-6, 61_604_497_218},
		{0.01, 1e-6, 11_715_558},
		{1, 1e-300, 0},
		{200, 1e-300, 0},
		{200, 0.1, 0},
		{1000, 1e-6, 0}, // the float64 result is one unit too much
		{1200, 1e-9, 0},
		{0.001, 1e-12, 0},
		{8, 1e-9, 0},
		{0.1, 0.1, 0},
		{1e-9, 0.9, 0},
	} {
		b := must.Have(NewBudget(tc.epsilon, tc.delta, GDP, 0))
		if tc.want != 0 && b.Mu2 != tc.want {
			t.Errorf("B²(%v, %v) = %d, want %d", tc.epsilon, tc.delta, b.Mu2, tc.want)
		}
		target := refNew().SetFloat64(tc.delta)
		if refGaussianDelta(b.Mu2, tc.epsilon).Cmp(target) > 0 {
			t.Errorf("B²(%v, %v) = %d is too much", tc.epsilon, tc.delta, b.Mu2)
		}
		if refGaussianDelta(b.Mu2+1, tc.epsilon).Cmp(target) <= 0 {
			t.Errorf("B²(%v, %v) = %d is less than it could be", tc.epsilon, tc.delta, b.Mu2)
		}
	}
}

// bestOrderBudget solves the bound of Lemma C.4 for ρ at every order of a fine
// grid and takes the best: the Rényi filter with one real order.
func bestOrderBudget(epsilon, delta float64) float64 {
	best := 0.0
	for s := -8.0; s < 12; s += 0.0005 {
		alpha := 1 + math.Exp(s)
		g := -math.Log(alpha-1) + alpha*math.Log1p(-1/alpha)
		best = max(best, (epsilon+(math.Log(delta)-g)/(alpha-1))/alpha)
	}
	return 2 * best
}

func TestRuleRDPIsOneBestOrderFixedInAdvance(t *testing.T) {
	for _, tc := range []struct{ epsilon, delta float64 }{{1, 1e-6}, {0.1, 1e-9}, {8, 1e-5}, {100, 1e-12}} {
		zcdp, err1 := NewBudget(tc.epsilon, tc.delta, ZCDP, 0)
		rdp, err2 := NewBudget(tc.epsilon, tc.delta, RDP, 0)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if zcdp.Mu2 != rdp.Mu2 {
			t.Errorf("(%v, %v): rdp %d, zcdp %d", tc.epsilon, tc.delta, rdp.Mu2, zcdp.Mu2)
		}
		want := bestOrderBudget(tc.epsilon, tc.delta)
		if got := zcdp.Mu2.Float(); got < want*(1-1e-9) || got > want*(1+1e-6) {
			t.Errorf("(%v, %v): B² = %v, best order on a grid %v", tc.epsilon, tc.delta, got, want)
		}
	}
}

// B² of zCDP, computed outside this project: Python's decimal with 80 digits, the
// bound solved for ρ at each order and maximised over the order by golden section,
// which is the dual of the search that is made here.
func TestZCDPBudgetIsTheExactInverseFloored(t *testing.T) {
	for _, tc := range []struct {
		epsilon, delta float64
		want           units.Mu2
	}{
		{1, 1e-6, 53_559_345_232},         // .16
		{0.01, 1e-6, 9_585_484},           // .49
		{8, 1e-9, 1_611_517_441_396},      // .63
		{200, 1e-300, 28_029_840_558_035}, // .63
		{0.1, 0.1, 67_106_229_043},        // .88
	} {
		b, err := NewBudget(tc.epsilon, tc.delta, ZCDP, 0)
		if err != nil || b.Mu2 != tc.want {
			t.Errorf("B²(%v, %v) = %d, %v; want %d", tc.epsilon, tc.delta, b.Mu2, err, tc.want)
		}
	}
}

func TestRuleBudgetsAreRoundedDown(t *testing.T) {
	for _, a := range []Accountant{GDP, ZCDP, RDP} {
		b := must.Have(NewBudget(1, 1e-6, a, 0))
		if d := DeltaOf(b.Mu2, 1, a); d > 1e-6 {
			t.Errorf("%s: the budget's δ is %v, above 1e-6", a, d)
		}
		if d := DeltaOf(b.Mu2+1, 1, a); d <= 1e-6 {
			t.Errorf("%s: one more unit would still be within 1e-6 (%v)", a, d)
		}
	}
}

func testBudget(t testing.TB, deltaKeys float64) Budget {
	t.Helper()
	return must.Have(NewBudget(1, 1e-6, GDP, deltaKeys))
}

func TestRuleDeltaKeysTakenFromDelta(t *testing.T) {
	whole := testBudget(t, 0)
	// the last is between two units
	for _, tc := range []struct{ keys, costPercent float64 }{{1e-7, 1.0}, {5e-7, 6.3}, {1e-12, 0}} {

		b := testBudget(t, tc.keys)
		cost := 100 * (1 - b.Mu2.Float()/whole.Mu2.Float())
		if math.Abs(cost-tc.costPercent) > 0.05 {
			t.Errorf("δ_keys = %v costs %.2f%% of B², want %.1f%%", tc.keys, cost, tc.costPercent)
		}
		// Both parts together are the δ that was promised.
		left := DeltaOf(b.Mu2, 1, GDP)
		if left+b.Keys.Float() > 1e-6*(1+1e-15) {
			t.Errorf("δ_keys = %v: the parts add up to %v", tc.keys, left+b.Keys.Float())
		}
		if DeltaOf(b.Mu2+1, 1, GDP)+tc.keys <= 1e-6*(1-1e-9) {
			t.Errorf("δ_keys = %v: B² = %d is less than it could be", tc.keys, b.Mu2)
		}
		exact := new(big.Float).SetPrec(400).SetFloat64(tc.keys)
		want, _ := exact.SetMantExp(exact, 80).Int(nil)
		if b.Keys.Big().Cmp(want) != 0 {
			t.Errorf("δ_keys = %v is %v units, want %v rounded down", tc.keys, b.Keys.Big(), want)
		}
		// A contribution of 1 passes with a probability of at most its part of the charge times
		// δ_keys.
		for hi := uint64(1); hi < 1<<20; hi = 3*hi + 1 {
			u := units.Precision{Hi: hi, Lo: 12345 * hi}
			pays := new(big.Int).Mul(b.Keys.Big(), u.Big())
			whole := new(big.Int).Lsh(big.NewInt(int64(b.Mu2)), units.FinestBits-units.Mu2Bits)
			if low := pays.Quo(pays, whole); b.KeyDelta(u).Big().Cmp(low) != 0 {
				t.Errorf("δ_keys = %v: a key at %v passes with %v, want %v rounded down", tc.keys, u,
					b.KeyDelta(u).Big(), low)
			}
		}
	}
	if !whole.Keys.IsZero() {
		t.Error("a budget without private keys has δ for them")
	}
}

func TestImpossibleBudgetsAreTypedErrors(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, tc := range []struct {
		epsilon, delta, keys float64
		parameter            string
	}{
		{0, 1e-6, 0, "epsilon"}, {-1, 1e-6, 0, "epsilon"}, {nan, 1e-6, 0, "epsilon"}, {inf, 1e-6, 0, "epsilon"},
		{2e6, 1e-6, 0, "epsilon"}, {1, 0, 0, "delta"}, {1, 1, 0, "delta"}, {1, -1, 0, "delta"}, {1, nan, 0, "delta"},
		{1, 1e-310, 0, "delta"}, {1, 1e-6, 1e-6, "delta_keys"}, {1, 1e-6, -1e-9, "delta_keys"},
		{1, 1e-6, nan, "delta_keys"},
		{1, 1e-6, 1e-30, "delta_keys"}, {1e-9, 1e-12, 0, "epsilon"},
	} {
		_, err := NewBudget(tc.epsilon, tc.delta, GDP, tc.keys)
		var r *units.RangeError
		if !errors.As(err, &r) || r.Parameter != tc.parameter || r.Range == "" {
			t.Errorf("(%v, %v, %v): %v, want a *units.RangeError for %s", tc.epsilon, tc.delta, tc.keys, err,
				tc.parameter)
		}
	}
	var unknown *UnknownAccountantError
	if _, err := NewBudget(1, 1e-6, "renyi", 0); !errors.As(err, &unknown) || unknown.Name != "renyi" {
		t.Errorf("accountant renyi: %v", err)
	}
	var r *units.RangeError
	if _, err := ReleasesBeforeRefusal(testBudget(t, 0), 0, 1); !errors.As(err, &r) || r.Parameter != "sigma" {
		t.Errorf("sigma 0: %v", err)
	}
	if _, err := ReleasesBeforeRefusal(testBudget(t, 0), 100, 0); !errors.As(err, &r) || r.Parameter != "contribution" {
		t.Errorf("contribution 0: %v", err)
	}
}

// EpsilonOf inverts NewBudget: the ε of B² is at most the requested one.
func TestEpsilonOfBudgetIsAtMostWhatWasPromised(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := math.Exp(rapid.Float64Range(-5, 5.3).Draw(t, "ln ε"))
		delta := math.Exp(rapid.Float64Range(-690, -2.3).Draw(t, "ln δ"))
		a := rapid.SampledFrom([]Accountant{GDP, ZCDP, RDP}).Draw(t, "accountant")
		b, err := NewBudget(epsilon, delta, a, 0)
		if err != nil {
			t.Skip("not one unit of budget")
		}
		if d := DeltaOf(b.Mu2, epsilon, a); !(d <= delta) {
			t.Fatalf("δ of B² is %v, above %v", d, delta)
		}
		if d := DeltaOf(b.Mu2+1, epsilon, a); !(d > delta) {
			t.Fatalf("δ of B² + 1 is %v, within %v", d, delta)
		}
		e := EpsilonOf(b.Mu2, delta, a)
		if !(e <= epsilon && DeltaOf(b.Mu2, e, a) <= delta) {
			t.Fatalf("ε of B² is %v, asked for %v", e, epsilon)
		}
		if e > 0 && DeltaOf(b.Mu2, math.Nextafter(e, 0), a) <= delta {
			t.Fatalf("ε of B² is %v, but less would do", e)
		}
	})
}

// The result is always a number, and promises nothing for arguments that make no sense.
func TestNeverNaN(t *testing.T) {
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, math.Copysign(0, -1), 5e-324, 1e-300, 1e-9, 0.5, 1,
		200, 1e300}
	for _, m := range []units.Mu2{0, 1, 1 << 40, units.MaxMu2} {
		for _, x := range odd {
			for _, a := range []Accountant{GDP, ZCDP, RDP, "", "other"} {
				d := DeltaOf(m, x, a)
				if !(d >= 0 && d <= 1) {
					t.Errorf("DeltaOf(%d, %v, %s) = %v", m, x, a, d)
				}
				if m > 0 && d == 0 {
					t.Errorf("DeltaOf(%d, %v, %s) promises δ = 0", m, x, a)
				}
				if !(x >= 0) && d != 1 {
					t.Errorf("DeltaOf(%d, %v, %s) = %v, want 1", m, x, a, d)
				}
			}
		}
	}
	for _, x := range odd {
		for _, a := range []Accountant{GDP, ZCDP, "other"} {
			e := EpsilonOf(1<<36, x, a)
			if !(e >= 0) || (a == "other" || x < MinDelta || x >= 1) && !math.IsInf(e, 1) {
				t.Errorf("EpsilonOf(2^36, %v, %s) = %v", x, a, e)
			}
		}
	}
	if e := EpsilonOf(0, 1e-6, GDP); e != 0 {
		t.Errorf("no user spent anything, yet ε = %v", e)
	}
}
