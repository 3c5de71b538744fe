package integration

import (
	"math/big"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/reference"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// A user who contributes all that the bounds allow takes part in N windows of every metric, not in
// N−1.
func TestRuleLastAtLeastHoldsForWholeWindows(t *testing.T) {
	for _, k := range []struct{ n, keys, events, metrics int }{{100, 4, 10, 1}, {100, 4, 10, 3}, {7, 3, 7, 2}, {1, 1, 1, 1}, {365, 20, 50, 2}} {
		config := baseConfig("localhost:1", "split")
		config.Privacy = pipeline.Privacy{Epsilon: 1, Delta: 1e-6, Accountant: "gdp"}
		config.Metrics = nil
		for i := range k.metrics {
			m := privateMetric("m"+string(rune('a'+i)), 10*time.Second)
			m.LastAtLeast, m.MaxKeysPerUser, m.MaxEventsPerKey = k.n, k.keys, k.events
			config.Metrics = append(config.Metrics, m)
		}
		d, err := pipeline.Compile(config)
		if err != nil {
			t.Fatal(err)
		}
		budget := bigOf(uint64(d.Budget.Mu2))
		share := big.NewRat(1, int64(k.metrics))
		n, keys, events := uint64(k.n), uint64(k.keys), big.NewInt(int64(k.events))
		spent, delta := new(big.Int), new(big.Int)
		for _, m := range d.Metrics {
			if want := reference.TopPrecision(share, budget, new(big.Int), n, keys, events); m.Spec.Top.Big().Cmp(want) != 0 {
				t.Errorf("%+v: u_top is %v, want %v", k, m.Spec.Top.Big(), want)
			}
			if want := reference.KeyDelta(share, d.Budget.Keys.Big(), n, keys); m.Spec.DeltaKey.Big().Cmp(want) != 0 {
				t.Errorf("%+v: δ_key is %v, want %v", k, m.Spec.DeltaKey.Big(), want)
			}
			whole := bigOf(n * keys)
			spent.Add(spent, new(big.Int).Mul(whole, reference.Charge(events.Int64(), m.Spec.Top.Big())))
			delta.Add(delta, new(big.Int).Mul(whole, m.Spec.DeltaKey.Big()))
		}
		if spent.Cmp(budget) > 0 || delta.Cmp(d.Budget.Keys.Big()) > 0 {
			t.Errorf("%+v: %d windows cost %v of %v and %v of %v units", k, k.n, spent, budget, delta, d.Budget.Keys.Big())
		}
	}
}

// The budget itself is held against the curve in 320-bit arithmetic: never above, and at most a few
// units of 2^-40 below.
func TestRuleBudgetsRoundDown(t *testing.T) {
	for _, k := range []struct{ epsilon, delta float64 }{{1, 1e-6}, {0.2, 1e-9}, {40, 1e-4}} {
		config := baseConfig("localhost:1", "budget")
		config.Privacy = pipeline.Privacy{Epsilon: k.epsilon, Delta: k.delta, Accountant: string(budgets.GDP)}
		d, err := pipeline.Compile(config)
		if err != nil {
			t.Fatal(err)
		}
		got := bigOf(uint64(d.Budget.Mu2))
		exact := reference.GaussianBudget(k.epsilon, k.delta-k.delta/10)
		if gap := new(big.Int).Sub(exact, got); gap.Sign() < 0 || gap.Cmp(big.NewInt(2)) > 0 {
			t.Errorf("B² at (%g, %g) is %v, exactly it is %v", k.epsilon, k.delta, got, exact)
		}
	}
}
