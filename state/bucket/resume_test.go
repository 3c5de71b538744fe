package bucket

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// Counts that move from one gate to another stay within the conditions of a gate with the greatest
// μ and the greatest slack, at each of its orders. So they have its promise under adaptive choice,
// but possibly neither gate's own.
func TestRuleTwoGatesPromiseTheGreatestOfBoth(t *testing.T) {
	ladder := must.Have(NewGeometricLadder(20, 160, 4))
	pairs := must.Have(ladder.Pairs(1))
	table := must.Have(NewTable(pairs, Options{Interval: 0x1p-9, Points: 1 << 10, Tail: 1e-8}))
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Budget {
			return Budget{Mu: rapid.SampledFrom([]float64{0.1, 0.125, 0.2, 0.3, 0.5}).Draw(t, name+" μ"),
				Slack: rapid.SampledFrom([]float64{1e-8, 1e-7, 3e-7, 1e-6}).Draw(t, name+" slack")}
		}
		mechanisms := func() []int {
			n := rapid.SampledFrom([]int{0, 60, 60, 60}).Draw(t, "mechanisms")
			return rapid.SliceOfN(rapid.IntRange(0, ladder.Len()-1), n, n).Draw(t, "levels")
		}
		spendAtTwoGates(t, table, ladder, [2]Budget{draw("first"), draw("second")}, mechanisms(), mechanisms())
	})
	// Whatever the order, neither the gate of the lesser μ nor the one of the lesser slack would
	// suffice.
	wide, slack, coarsest := Budget{Mu: 0.5, Slack: 1e-8}, Budget{Mu: 0.1, Slack: 1e-6}, make([]int, 60)
	for _, b := range [][2]Budget{{wide, slack}, {slack, wide}} {
		if spendAtTwoGates(t, table, ladder, b, coarsest, coarsest) == 0 {
			t.Errorf("one of the gates of %v would do", b)
		}
	}
}

// spendAtTwoGates spends mechanisms, given by their levels, at one gate and goes on at the other.
// It returns by how many of the gates the counts are not bounded.
func spendAtTwoGates(t rapid.TB, table *Table, ladder Ladder, budgets [2]Budget, first, second []int) (beyond int) {
	t.Helper()
	gate := func(b Budget) *Gate {
		g := must.Have(NewGate(table, b))
		return g
	}
	a, b := budgets[0], budgets[1]
	both := gate(Budget{Mu: max(a.Mu, b.Mu), Slack: max(a.Slack, b.Slack)})
	counts := table.NewCounts()
	for i, levels := range [][]int{first, second} {
		f := must.Have(ResumeFilter(gate(budgets[i]), ladder, counts))
		if !slices.Equal(f.Counts(), counts) {
			t.Fatalf("a filter goes on with %v instead of %v", f.Counts(), counts)
		}
		for _, level := range levels {
			_ = f.Spend(Noise{Sigma: ladder.Sigma(level)})
		}
		counts = f.Counts()
	}
	if !both.bounded(counts) {
		t.Fatalf("%v are beyond the gate of %v and %v together", counts, a, b)
	}
	for _, g := range []*Gate{gate(a), gate(b)} {
		if !g.bounded(counts) {
			beyond++
		}
		for i, order := range both.Orders() {
			if g.Orders()[i] != order {
				t.Fatalf("order %v is not one of %v", order, g.Orders())
			}
		}
	}
	return beyond
}
