package bucket

import (
	"testing"

	"pgregory.net/rapid"
)

// Counts that were taken at one gate and go on at another are within what the gate of
// the greatest μ and the greatest slack holds them to, at each of its orders: so its
// promise under adaptive choice is that of both. Neither gate's own need be.
func TestRuleTwoGatesPromiseTheGreatestOfBoth(t *testing.T) {
	ladder, err := NewLadder(20, 160, 4)
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := ladder.Pairs(1)
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewTable(pairs, Options{Interval: 0x1p-9, Points: 1 << 10, Tail: 1e-8})
	if err != nil {
		t.Fatal(err)
	}
	alone := 0
	rapid.Check(t, func(t *rapid.T) {
		gate := func(b Budget) *Gate {
			g, err := NewGate(table, b)
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		draw := func(name string) Budget {
			return Budget{Mu: rapid.Float64Range(0.1, 0.5).Draw(t, name+" μ"), Slack: rapid.SampledFrom([]float64{1e-8, 1e-7, 3e-7, 1e-6}).Draw(t, name+" slack")}
		}
		a, b := draw("first"), draw("second")
		both := gate(Budget{Mu: max(a.Mu, b.Mu), Slack: max(a.Slack, b.Slack)})
		counts := table.NewCounts()
		for _, budget := range []Budget{a, b} {
			f, err := ResumeFilter(gate(budget), ladder, counts)
			if err != nil {
				t.Fatal(err)
			}
			for range rapid.IntRange(0, 60).Draw(t, "mechanisms") {
				i := rapid.IntRange(0, ladder.Len()-1).Draw(t, "level")
				_ = f.Spend(Noise{Sigma: ladder.Sigma(i)})
			}
			counts = f.Counts()
		}
		if !both.bounded(counts) {
			t.Fatalf("%v are beyond the gate of %v and %v together", counts, a, b)
		}
		for _, g := range []*Gate{gate(a), gate(b)} {
			if !g.bounded(counts) {
				alone++
			}
			for i, order := range both.Orders() {
				if g.Orders()[i] != order {
					t.Fatalf("order %v is not one of %v", order, g.Orders())
				}
			}
		}
	})
	if alone == 0 {
		t.Error("one of the two gates would always do: the case says little")
	}
}
