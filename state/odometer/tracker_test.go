package odometer_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/odometer"
)

// Algorithm 5 by hand: with Δ = 1 the losses 0.5, 0.25, 0.5, 0.5, 0.75, 0.25 fill
// filters as {0.5, 0.25}, {0.5, 0.5}, {0.75, 0.25}.
func TestTrackerOpensTheNextFilterForWhatNoLongerFits(t *testing.T) {
	tracker := odometer.NewTracker(must(filter.NewApproxZCDP(1, 0)))
	for i, c := range []struct {
		rho   float64
		steps uint64
	}{
		{0.5, 1}, {0.25, 1}, {0.5, 2}, {0.5, 2}, {0.75, 3}, {0.25, 3}, {1, 4}, {0, 4}, {0x1p-80, 5},
	} {
		if err := tracker.Record(loss.ZCDP{Rho: c.rho}); err != nil {
			t.Fatal(err)
		}
		if got := tracker.Bound(); got != c.steps {
			t.Errorf("after loss %d (%v) the tracker says %d steps, want %d", i, c.rho, got, c.steps)
		}
	}
}

func TestLossesAboveAStepAreRefused(t *testing.T) {
	tracker := odometer.NewTracker(must(filter.NewRenyiOrders(loss.RDP{{Alpha: 2, Epsilon: 0.5}, {Alpha: 8, Epsilon: 2}})))
	for _, l := range []loss.RDP{{{Alpha: 2, Epsilon: 0.6}, {Alpha: 8, Epsilon: 1}}, {{Alpha: 2, Epsilon: 0.1}, {Alpha: 8, Epsilon: 2.1}}, {{Alpha: 8, Epsilon: 1}}} {
		if err := tracker.Record(l); !errors.Is(err, odometer.ErrStep) {
			t.Errorf("%v: %v, want ErrStep", l, err)
		}
	}
	if tracker.Steps() != 0 {
		t.Errorf("a refused loss opened a filter: %d steps", tracker.Steps())
	}
	if err := tracker.Record(loss.RDP{{Alpha: 2, Epsilon: 0.5}, {Alpha: 8, Epsilon: 2}}); err != nil || tracker.Steps() != 1 {
		t.Errorf("a loss of one step: %v, %d steps", err, tracker.Steps())
	}
}

// The claim of Proposition 4.10 rests on this: whatever losses are chosen, what is
// recorded while the tracker says m steps adds up to at most m·Δ at every order; and
// the waste is bounded: two successive filters have taken more than Δ at some order.
func TestTrackerCoversTheSumOfLosses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		step := loss.RDP{{Alpha: 2, Epsilon: 0.25}, {Alpha: 32, Epsilon: 4}}
		tracker := odometer.NewTracker(must(filter.NewRenyiOrders(step)))
		exact := must(odometer.NewRenyiTotal([]float64{2, 32}))
		sums := []*big.Rat{new(big.Rat), new(big.Rat)}
		share := 0.0 // Σ of the greatest share of a step
		for range rapid.IntRange(1, 200).Draw(t, "losses") {
			l := loss.RDP{
				{Alpha: 2, Epsilon: rapid.Float64Range(0, 0.25).Draw(t, "low")},
				{Alpha: 32, Epsilon: rapid.Float64Range(0, 4).Draw(t, "high")},
			}
			if err := tracker.Record(l); err != nil {
				t.Fatal(err)
			}
			if err := exact.Record(l); err != nil {
				t.Fatal(err)
			}
			share += l[0].Epsilon/0.25 + l[1].Epsilon/4
			for i := range sums {
				sums[i].Add(sums[i], new(big.Rat).SetFloat64(l[i].Epsilon))
				tracked, summed := float64(tracker.Steps())*step[i].Epsilon, exact.Bound()[i].Epsilon
				if new(big.Rat).SetFloat64(tracked).Cmp(sums[i]) < 0 {
					t.Fatalf("order %v: the tracker says %v, the losses add up to %v", l[i].Alpha, tracked, sums[i].FloatString(30))
				}
				if new(big.Rat).SetFloat64(summed).Cmp(sums[i]) < 0 {
					t.Fatalf("order %v: the total says %v, the losses add up to %v", l[i].Alpha, summed, sums[i].FloatString(30))
				}
				if summed > tracked*(1+1e-12) {
					t.Fatalf("order %v: the total %v is above the tracker %v", l[i].Alpha, summed, tracked)
				}
			}
		}
		if limit := 2*share + 1 + 1e-9; float64(tracker.Steps()) > limit {
			t.Fatalf("%d steps for losses of %v steps", tracker.Steps(), share)
		}
	})
}

func TestGDPTotalIsTheRootOfTheSquares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var total odometer.GDPTotal
		sum := new(big.Rat)
		for range rapid.IntRange(1, 50).Draw(t, "losses") {
			mu := rapid.Float64Range(0, 3).Draw(t, "mu")
			if err := total.Record(loss.GDP{Mu: mu}); err != nil {
				t.Fatal(err)
			}
			exact := new(big.Rat).SetFloat64(mu)
			sum.Add(sum, exact.Mul(exact, exact))
		}
		got := total.Bound().Mu
		square := new(big.Rat).SetFloat64(got)
		square.Mul(square, square)
		truth, _ := sum.Float64()
		if square.Cmp(sum) < 0 || got > math.Sqrt(truth)*(1+1e-14)+1e-10 {
			t.Fatalf("√Σμ² is %v, Bound says %v", math.Sqrt(truth), got)
		}
	})
}

// Koskela, Tobaben and Honkela, Section 4.1: at σ = 100 and δ = 1e-5, 495 steps of
// Gaussian differential privacy cost what 420 cost by Rényi, ε ≈ 0.815.
func TestGaussianTotalsCostLessThanRenyiOnes(t *testing.T) {
	var gdp odometer.GDPTotal
	var zcdp odometer.ZCDPTotal
	for range 495 {
		if err := gdp.Record(loss.GDP{Mu: 0.01}); err != nil {
			t.Fatal(err)
		}
	}
	for range 420 {
		if err := zcdp.Record(loss.ZCDP{Rho: 0.00005}); err != nil {
			t.Fatal(err)
		}
	}
	byGDP := must(budgets.ConvertDeltaMu(1e-5, gdp.Bound().Mu, budgets.GDP))
	byRenyi := must(budgets.ConvertDeltaRho(1e-5, zcdp.Bound().Rho, budgets.ZCDP))
	if math.Abs(byGDP.Epsilon-0.815) > 0.001 || math.Abs(byRenyi.Epsilon-0.815) > 0.001 {
		t.Errorf("495 GDP steps: ε = %v, 420 Rényi steps: ε = %v, want 0.815 for both", byGDP.Epsilon, byRenyi.Epsilon)
	}
}

func TestTrackerOverAnyFilter(t *testing.T) {
	tracker := odometer.NewTracker(must(filter.NewBasic(loss.Approx{Epsilon: 1, Delta: 1e-6})))
	for range 10 {
		if err := tracker.Record(loss.Approx{Epsilon: 0.25, Delta: 4e-7}); err != nil {
			t.Fatal(err)
		}
	}
	if tracker.Steps() != 5 { // two at a time, by δ
		t.Errorf("%d steps, want 5", tracker.Steps())
	}
}
