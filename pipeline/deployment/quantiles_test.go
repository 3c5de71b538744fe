package deployment_test

import (
	"math"
	"math/big"
	"math/bits"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/release"
)

func quantilesFrom(low, high int64, events int) deployment.Metric {
	m := capAt("m", 0, 24)
	m.Kind, m.Min, m.Max, m.MaxEventsPerKey, m.Ranks = metrickind.Quantiles, low, high, events, []float64{0.5, 0.999}
	m.Target = noisereduction.Target{Absolute: 0.05, Confidence: 0.95}
	return m
}

// The last_at_least windows of quantiles fit the budget when all events of a user have one value:
// then every level of the tree costs the most. A histogram has one level. What is released beside
// them is paid, too. Nearly nothing is left over. Wherever N's ladder stops, nodes are drawn with
// no more than their top.
func TestRuleQuantilesDivideTheirBudgetOverAllLevels(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		low, events := rapid.Int64Range(-1000, 1000).Draw(rt, "min"), rapid.IntRange(1, 20).Draw(rt, "events")
		m := quantilesFrom(low, low+rapid.SampledFrom([]int64{1, 5, 7, 8, 63, 64, 511, 4095, 4096, 32_767, 1 << 31}).Draw(rt, "range"), events)
		steps, kind := m.Max-m.Min+1, 0
		switch rapid.IntRange(0, 2).Draw(rt, "kind") {
		case 1:
			m.Scale, kind = deployment.ScaleLogarithmic, 1
			if d := m.Max - m.Min; d > 63 {
				wide := bits.Len64(uint64(d)) - 6 // of the last step, as a power of two
				steps = int64(32*wide) + d>>wide + 1
			}
		case 2:
			m.Kind, m.Ranks, m.Buckets, m.Target.Absolute = metrickind.Histogram, nil, rapid.IntRange(2, metrickind.MostBuckets).Draw(rt, "buckets"), 5
			m.Max, steps = max(m.Max, m.Min+int64(m.Buckets)), 1
		}
		m.MaxKeysPerUser, m.LastAtLeast = rapid.IntRange(1, 5).Draw(rt, "keys"), rapid.IntRange(1, 200).Draw(rt, "windows")
		if wide := m.Max - m.Min; wide < 512 {
			m.Also = rapid.SampledFrom([][]string{nil, {"mean"}, {"standard_deviation", "mean"}}).Draw(rt, "also")
		}
		d, err := averaging(m)
		if err != nil {
			rt.Fatal(err)
		}
		specs := d.Specs()
		first, nodes := specs[0], specs[len(specs)-1]
		if nodes.Kind != metrickind.Of(m.Kind).Tree.Nodes[kind] {
			rt.Fatalf("the last definition is of kind %s", nodes.Kind)
		}
		levels := 1
		for leaves := int64(8); leaves < steps && levels < 5; leaves *= 8 {
			levels++
		}
		square := uint64(events) * uint64(events)
		count, _ := units.Charge(uint64(events), first.Top)
		tree, _ := units.ChargeSquares(uint64(levels)*square, nodes.Top)
		worst, wide := uint64(count)+uint64(tree), uint64(m.Max-m.Min)
		for i := range m.Also { // a mean has a second component, a standard deviation a third
			of := specs[len(specs)-2-len(m.Also)+i]
			top, square := new(big.Int).Mul(first.Top.Big(), big.NewInt(int64(2*levels))), new(big.Int).SetUint64(wide)
			if top.Quo(top, square.Mul(square, square)); of.Top.Big().Cmp(top) != 0 {
				rt.Errorf("a tree of %d levels: N at %v, and %s at %v, want %v", levels, first.Top, of.Kind, of.Top.Big(), top)
			}
			sum, _ := units.Charge(uint64(events)*wide, of.Top)
			worst, wide = worst+uint64(sum), wide*wide
		}
		if number := specs[len(specs)-2]; len(m.Also) > 0 { // by which the sums are divided
			again, _ := units.Charge(uint64(events), number.Top)
			worst += uint64(again)
			if number.Top.Big().Cmp(new(big.Int).Mul(first.Top.Big(), big.NewInt(int64(2*levels)))) != 0 {
				rt.Errorf("a tree of %d levels: N at %v, and for the sums at %v", levels, first.Top, number.Top)
			}
		}
		worst *= uint64(m.MaxKeysPerUser * m.LastAtLeast)
		if budget := uint64(d.Budget.Mu2); worst > budget || float64(worst) < 0.999*float64(budget) {
			rt.Errorf("%d windows cost %d of %d", m.LastAtLeast, worst, budget)
		}
		figures, err := deployment.FiguresOf(d.Budget, specs)
		if want := uint64(d.Budget.Mu2) / (worst / uint64(m.LastAtLeast)); err != nil || figures[0].Windows != want {
			rt.Errorf("a budget is said to pay for %d windows, and pays for %d (%v)", figures[0].Windows, want, err)
		}
		part := rapid.Int64Range(1, 1000).Draw(rt, "part")
		u, _ := units.PrecisionFromBig(new(big.Int).Div(new(big.Int).Mul(first.Top.Big(), big.NewInt(part)), big.NewInt(1000)))
		if at, err := release.FurtherPrecision(&first, &nodes, u); err != nil || at.Cmp(nodes.Top) > 0 || at.Big().Cmp(new(big.Int).Mul(u.Big(), big.NewInt(metrickind.NodesFiner))) != 0 {
			rt.Errorf("N at %v: nodes at %v, %v", u, at, err)
		}
	})
}

// No other metric has the name of a quantile, of a statistic beside it, or of a component.
func TestNoMetricHasTheNameOfAPartOfQuantiles(t *testing.T) {
	m := quantilesFrom(0, 100, 2)
	m.Also = []string{"mean", "variance"}
	d, err := averaging(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range d.Specs()[1:] {
		if _, err := averaging(m, capAt(spec.Name, 0, 24)); err == nil || !strings.Contains(err.Error(), "needs this name") {
			t.Errorf("a metric with the name of %s: error is %v", spec.Kind, err)
		}
	}
}

// The range of quantiles does not depend on how many events of a user count. A mean beside them has
// the range of a mean.
func TestRuleTheRangeOfATreeIsThatOfItsValues(t *testing.T) {
	for _, c := range []struct {
		low, high int64
		also      []string
		fits      bool
	}{
		{-1 << 36, 1 << 36, nil, true}, {-1<<36 - 1, 0, nil, false}, {0, 1<<36 + 1, nil, false}, {0, 1 << 36, []string{"mean"}, false}, {0, 10_000, []string{"mean"}, true}, {0, 10_000, []string{"variance"}, false},
	} {
		m := quantilesFrom(c.low, c.high, 1000)
		m.Also = c.also
		if _, err := averaging(m); (err == nil) != c.fits {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// With ladder.sigma, a window costs what is released beside quantiles, too: that decides how many
// windows a budget pays for, whether last_at_least fits, and whether one event can be paid for.
func TestRuleWhatStandsBesideQuantilesIsPaidUnderASigma(t *testing.T) {
	m := quantilesFrom(0, 100, 2) // a tree of three levels
	m.Also, m.MaxKeysPerUser = []string{"standard_deviation"}, 1
	under := func(sigma float64, lastAtLeast int) (*deployment.Deployment, error) {
		m.Ladder.Sigma, m.LastAtLeast = sigma, lastAtLeast
		return averaging(m)
	}
	d, err := under(1000, 0)
	if err != nil {
		t.Fatal(err)
	}
	const parts = 1 + 8*3 + 3*6 // of a window's cost: N, the tree, and two sums with their number
	mu := d.Budget.Mu2.Mu()
	hundred := math.Sqrt(100.5*parts) * 2 / mu // for two events
	if d, err = under(hundred, 0); err != nil || deployment.Lifetimes(d)[0].Windows != 100 {
		t.Errorf("a budget lasts for %+v, want 100 windows (%v)", deployment.Lifetimes(d)[0], err)
	}
	for windows, fits := range map[int]bool{100: true, 101: false} {
		if d, err = under(hundred, windows); err != nil || deployment.LastAtLeastFits(d) != fits {
			t.Errorf("%d windows: want fits %v (%v)", windows, fits, err)
		}
	}
	for payable, sigma := range map[bool]float64{true: math.Sqrt(parts+0.5) / mu, false: math.Sqrt(parts-0.5) / mu} {
		if _, err = under(sigma, 0); (err == nil) != payable {
			t.Errorf("one event at σ %v: %v", sigma, err)
		}
	}
}
