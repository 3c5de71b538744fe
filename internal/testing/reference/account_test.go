package reference

import (
	"math/big"
	"testing"

	"github.com/tollgate-dp/tollgate/state/units"
)

func TestChargeRoundsUp(t *testing.T) {
	unit := new(big.Int).Lsh(big.NewInt(1), 40)
	for _, k := range []struct {
		c    int64
		u    *big.Int
		want int64
	}{
		{1, big.NewInt(0), 0},
		{1, big.NewInt(1), 1},
		{1, unit, 1},
		{1, new(big.Int).Add(unit, big.NewInt(1)), 2},
		{3, unit, 9},
		{10, big.NewInt(1), 1},
		{-3, unit, 9}, // a loss has no sign
	} {
		if got := Charge(k.c, k.u); got.Cmp(big.NewInt(k.want)) != 0 {
			t.Errorf("Charge(%d, %v) = %v, want %d", k.c, k.u, got, k.want)
		}
	}
}

// costing returns a precision whose charge for a contribution of 1 is n account units.
func costing(n int64) units.Precision {
	p, err := units.PrecisionFromBig(new(big.Int).Lsh(big.NewInt(n), 40))
	if err != nil {
		panic(err)
	}
	return p
}

func TestAdmissionHoldsTheWorstCaseInTheOrderOfTheConfiguration(t *testing.T) {
	c := testConfig(testMetric("a", "public", 100), testMetric("b", "public", 100), testMetric("c", "public", 100))
	c.Metrics[0].Top, c.Metrics[1].Top, c.Metrics[2].Top = costing(10), costing(100), costing(5)
	member := func() *member {
		return &member{parts: []windowPart{
			{metric: 0, counts: map[string]int64{"x": 2, "y": 1}}, // 40 + 10
			{metric: 1, counts: map[string]int64{"x": 1}},         // 100
			{metric: 2, counts: map[string]int64{"x": 1}},         // 5
		}}
	}
	for _, k := range []struct {
		budget, spent int64
		want          [3]bool
	}{
		{155, 0, [3]bool{true, true, true}},
		{154, 0, [3]bool{true, true, false}},
		{149, 0, [3]bool{true, false, true}}, // skipped and gone on
		{55, 0, [3]bool{true, false, true}},
		{54, 0, [3]bool{true, false, false}},
		{49, 0, [3]bool{false, false, true}}, // all or nothing: not key y alone
		{155, 1, [3]bool{true, true, false}},
		{155, 151, [3]bool{false, false, false}},
	} {
		c.Budget.Mu2 = big.NewInt(k.budget)
		account := Account{big.NewInt(k.spent), new(big.Int)}
		m := member()
		c.admit(&account, new(big.Int), m)
		for i, part := range m.parts {
			if part.admitted != k.want[i] {
				t.Errorf("budget %d, spent %d: metric window %d admitted is %v, want %v", k.budget, k.spent, i, part.admitted, k.want[i])
			}
		}
		if account.Spent.Int64() != k.spent {
			t.Errorf("admission charged %v", account.Spent)
		}
	}
}

func TestPrivateKeysCostDeltaThatNeverComesBack(t *testing.T) {
	c := testConfig(testMetric("a", "private", 100))
	c.Metrics[0].DeltaKey = units.Delta{Lo: 7}
	c.Budget.Keys = big.NewInt(20)
	account := Account{new(big.Int), new(big.Int)}
	for i, want := range []bool{true, false, true, false} {
		keys := map[string]int64{"x": 1, "y": 1}
		if i == 2 {
			delete(keys, "y") // one key fits where two did not
			c.Budget.Keys = big.NewInt(21)
		}
		m := &member{parts: []windowPart{{metric: 0, counts: keys}}}
		c.admit(&account, new(big.Int), m)
		if m.parts[0].admitted != want {
			t.Errorf("turn %d: admitted is %v, want %v", i, m.parts[0].admitted, want)
		}
	}
	if account.Keys.Int64() != 21 {
		t.Errorf("%v units of δ were spent, want 21", account.Keys)
	}
}

func TestRefusalsAreCountedByReason(t *testing.T) {
	c := testConfig(testMetric("a", "private", 100), testMetric("b", "public", 100))
	c.Metrics[0].Top, c.Metrics[1].Top = costing(1), costing(1)
	c.Metrics[0].DeltaKey = units.Delta{Lo: 7}
	c.Budget = Budget{Mu2: big.NewInt(10), Keys: big.NewInt(7)}
	brings := func(metric int, n int64, keys ...string) windowPart {
		p := windowPart{metric: metric, counts: map[string]int64{}}
		for _, key := range keys {
			p.counts[key] = n
		}
		return p
	}
	out := Output{Admitted: map[Owner][]Decision{}}
	for i, parts := range [][]windowPart{
		{brings(0, 1, "x"), brings(1, 3, "x")},                         // both just fit
		{brings(0, 1, "x"), brings(1, 4, "x"), brings(0, 1, "x")},      // by B², then by δ
		{brings(0, 4, "x", "y"), brings(0, 4, "x"), brings(0, 1, "x")}, // by both, by B², and the last one fits
		{brings(0, 1, "x", "y")},
	} {
		m := &member{owner: Owner{Period: int64(i)}, parts: parts}
		c.admit(&Account{new(big.Int), new(big.Int)}, new(big.Int), m)
		for _, part := range m.parts {
			if part.admitted != (part.refusal == Refusal{}) {
				t.Errorf("%+v: admitted is %v", part.refusal, part.admitted)
			}
			out.Admitted[m.owner] = append(out.Admitted[m.owner], Decision{Admitted: part.admitted, Refusal: part.refusal})
		}
	}
	refused, atBothEdges := out.Refusals()
	if want := (Refusals{ByBudget: 2, ByKeys: 2, ByBoth: 1}); refused != want || atBothEdges != 2 {
		t.Errorf("%+v were refused and %d individuals are at both edges, want %+v and 2", refused, atBothEdges, want)
	}
}
